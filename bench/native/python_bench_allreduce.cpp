// Timed code of `slipstream bench allreduce`.
#include <slipstream/collective.hpp>

#include "native/python_bench.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {
namespace {

/// Times all-reduces of arrays of zeros, whose sums stay zero over any number of reductions.
class Bench {
 public:
  Bench(const Machine& machine, int values, ReduceMethod method)
      : reduce_(world(), machine, values, DType::f64, Op::add, {method}) {
    for (const int d : machine.devices_of_rank(world().rank())) {
      const Device device = machine.device(d).local;
      streams_.emplace_back(device, Priority::high);
      arrays_.emplace_back(device, values);
      pointers_.push_back(arrays_.back().data());
      fill(streams_.back(), arrays_.back().data(), 0, arrays_.back().bytes());
    }
    synchronize(streams_);
    reduce_.check();
  }

  /// Microseconds of one all-reduce by device events, from graphs of `runs` reductions that run back to back.
  double events_us(int runs, int repeats) {
    return checked(python::events_us(streams_, runs, repeats, [&] { reduce_.run(streams_, pointers_); }));
  }

  /// Microseconds of one all-reduce by the host's clock: barrier, run, wait.
  double host_us(int repeats) {
    return checked(python::host_us(repeats, [&] {
      reduce_.run(streams_, pointers_);
      synchronize(streams_);
    }));
  }

 private:
  /// Returns the measured time, or throws if one of the timed reductions failed.
  double checked(double time) const {
    reduce_.check();
    return time;
  }

  AllReduce reduce_;
  std::vector<Stream> streams_;
  std::vector<Buffer<double>> arrays_;
  std::vector<void*> pointers_;
};

std::vector<double> bench_allreduce(const Machine& machine, const std::vector<int>& values, const std::string& method,
                                    const std::string& clock, int repeats) {
  constexpr int runs_per_graph = 20;
  require(clock == "events" || clock == "host", "'" + clock + "' is no clock: choose events or host");
  const ReduceMethod chosen = reduce_method_from_string(method);
  // An all-reduce that outlives all timed ones, so that NCCL and NVSHMEM connect the devices only once.
  const AllReduce first(world(), machine, 1, DType::f64, Op::add, {chosen});
  std::vector<double> times;
  for (const int count : values) {
    Bench bench(machine, count, chosen);
    times.push_back(clock == "events" ? bench.events_us(runs_per_graph, repeats) : bench.host_us(repeats));
  }
  return times;
}

/// Text on why a method of all-reduce is unavailable; empty if it is available.
std::string refusal(const Machine& machine, const std::string& method) {
  try {
    const AllReduce probe(world(), machine, 1, DType::f64, Op::add, {reduce_method_from_string(method)});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

void bind_bench_allreduce(nb::module_& m) {
  m.def("allreduce_refusal", &refusal, nb::arg("machine"), nb::arg("method"), nb::call_guard<Released>(),
        "Why a method cannot serve; empty where it can. Collective.");
  m.def("allreduce", &bench_allreduce, nb::arg("machine"), nb::arg("values"), nb::arg("method"), nb::arg("clock"),
        nb::arg("repeats") = 100, nb::call_guard<Released>(),
        "Microseconds of one all-reduce of each number of doubles: median of `repeats`, slowest rank. Collective.");
}

}  // namespace slipstream::python

// The timed loops of `slipstream bench allreduce`.
#include <algorithm>
#include <chrono>

#include <slipstream/collective.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {
namespace {

/// Arrays of zeros, whose sum stays zero however often it is taken.
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
    synchronize();
  }

  /// Microseconds of one all-reduce by device events: a graph of `runs`, replayed back to back `repeats` times.
  double events_us(int runs, int repeats) {
    for (Stream& stream : streams_) stream.begin_capture();
    for (int run = 0; run < runs; ++run) reduce_.run(streams_, pointers_);
    std::vector<Graph> graphs;
    for (Stream& stream : streams_) graphs.push_back(stream.end_capture());
    const int warm_up = std::min(repeats, 10);
    const auto points = timing_events(repeats + 1);
    world().barrier();
    for (int repeat = -warm_up; repeat < repeats; ++repeat)
      for (std::size_t i = 0; i < streams_.size(); ++i) {
        if (repeat == 0) streams_[i].record(points[i].front());
        graphs[i].launch(streams_[i]);
        if (repeat >= 0) streams_[i].record(points[i][repeat + 1]);
      }
    synchronize();
    std::vector<double> times(repeats, 0.0);
    for (int repeat = 0; repeat < repeats; ++repeat)
      for (const auto& device : points)
        times[repeat] = std::max(times[repeat], 1e3 * milliseconds(device[repeat], device[repeat + 1]) / runs);
    return slowest_rank_median(times);
  }

  /// Microseconds of one all-reduce by the host's clock: barrier, run, wait.
  double host_us(int repeats) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    for (int repeat = -std::min(repeats, 10); repeat < repeats; ++repeat) {
      world().barrier();
      const auto start = Clock::now();
      reduce_.run(streams_, pointers_);
      for (Stream& stream : streams_) stream.synchronize();
      if (repeat >= 0) times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    reduce_.check();
    return slowest_rank_median(times);
  }

 private:
  std::vector<std::vector<Event>> timing_events(int count) const {
    std::vector<std::vector<Event>> events;
    for (const Stream& stream : streams_) {
      auto& of_stream = events.emplace_back();
      for (int i = 0; i < count; ++i) of_stream.emplace_back(stream.device(), true);
    }
    return events;
  }

  void synchronize() {
    for (Stream& stream : streams_) stream.synchronize();
    reduce_.check();
  }

  AllReduce reduce_;
  std::vector<Stream> streams_;
  std::vector<Buffer<double>> arrays_;
  std::vector<void*> pointers_;
};

double bench_allreduce(const Machine& machine, int values, const std::string& method, const std::string& clock,
                       int repeats) {
  constexpr int runs_per_graph = 20;
  require(repeats > 0, "bench allreduce needs one repeat or more");
  require(clock == "events" || clock == "host", "'" + clock + "' is no clock: choose events or host");
  Bench bench(machine, values, reduce_method_from_string(method));
  return clock == "events" ? bench.events_us(runs_per_graph, repeats) : bench.host_us(repeats);
}

/// Why peer memory cannot serve; empty where it can.
std::string peer_refusal(const Machine& machine) {
  const AllReduce probe(world(), machine, 1, DType::f64, Op::add);
  return probe.method() == ReduceMethod::peer ? "" : probe.reason();
}

nb::list collectives() {
  nb::list all;
  for (const ReduceMethod method : {ReduceMethod::peer, ReduceMethod::mpi}) {
    nb::dict facts;
    for (const auto& [question, answer] : AllReduce::facts(method)) facts[question.c_str()] = answer;
    nb::dict entry;
    entry["name"] = to_string(method);
    entry["facts"] = facts;
    all.append(entry);
  }
  return all;
}

}  // namespace

void bind_bench_allreduce(nb::module_& m) {
  m.def("collectives", &collectives);
  m.def("allreduce_peer_refusal", &peer_refusal, nb::arg("machine"), nb::call_guard<nb::gil_scoped_release>());
  m.def("bench_allreduce", &bench_allreduce, nb::arg("machine"), nb::arg("values"), nb::arg("method"), nb::arg("clock"),
        nb::arg("repeats") = 100, nb::call_guard<nb::gil_scoped_release>(),
        "Microseconds of one all-reduce of doubles: median of `repeats`, slowest rank. Collective.");
}

}  // namespace slipstream::python

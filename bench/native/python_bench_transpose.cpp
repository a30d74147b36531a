// Timed code of `slipstream bench transpose`: redistributes a box of values between two decompositions.
#include <nanobind/stl/array.h>

#include <algorithm>
#include <optional>

#include <slipstream/exchange.hpp>
#include <slipstream/transpose.hpp>

#include "native/python_bench.hpp"
#include "native/routes_taken.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {
namespace {

/// Times transposes of zeros; each rank holds the values of its own devices.
class Bench {
 public:
  Bench(const Machine& machine, const Extent& cells, const Extent& from, const Extent& to,
        const std::array<int, 3>& axes, DType type, const ExchangeOptions& options)
      : source_(cells, machine, world().rank(), devices(machine, from)),
        target_(turned(cells, axes), machine, world().rank(), devices(machine, to)),
        transpose_(source_, target_, {axes, {}}),
        from_(source_, field("from", type)),
        to_(target_, field("to", type)) {
    const double began = seconds_now();
    exchange_.emplace(world(), source_, std::vector<ExchangeItem>{{&transpose_, &from_, &to_}}, options);
    setup_seconds_ = world().max(seconds_now() - began);
    for (const int d : machine.devices_of_rank(world().rank()))
      streams_.emplace_back(machine.device(d).local, Priority::high);
    for (const MessageInfo& message : exchange_->messages()) {
      if (machine.device(message.source).rank != world().rank()) continue;
      (message.source == message.target ? stay_ : leave_) += static_cast<double>(message.bytes);
      if (message.source != message.target) largest_ = std::max(largest_, static_cast<double>(message.bytes));
    }
  }

  nb::dict measured(const std::string& clock, int repeats) {
    const auto run = [&] { exchange_->run(streams_); };
    const int in_graph = exchange_->capturable() ? 5 : 0;
    const double time = clock == "events" ? events_us(streams_, in_graph, repeats, run) : host_us(repeats, [&] {
      run();
      synchronize(streams_);
    });
    exchange_->check();
    nb::dict found;
    found["time_us"] = time;
    found["setup_s"] = setup_seconds_;
    found["bytes"] = world().sum_in_rank_order(stay_ + leave_);
    found["sent_bytes"] = world().sum_in_rank_order(leave_);
    found["message_bytes"] = world().max(largest_);
    found["routes"] = routes_taken(exchange_->messages());
    return found;
  }

 private:
  /// Partition of the grid: each prime factor of the number of nodes cuts the axis with the most devices, if divisible.
  static GridOptions devices(const Machine& machine, const Extent& counts) {
    GridOptions options;
    Extent &nodes = options.partition.nodes, &devices = options.partition.devices;
    nodes = {1, 1, 1};
    devices = counts;
    int left = machine.nodes();
    for (int factor = 2; left > 1; ++factor)
      for (; left % factor == 0; left /= factor) {
        std::size_t most = 3;
        for (std::size_t a = 0; a < 3; ++a)
          if (devices[a] % factor == 0 && (most == 3 || devices[a] > devices[most])) most = a;
        require(most < 3, ErrorCode::unsupported, "no axis of this decomposition is cut by the nodes");
        nodes[most] *= factor;
        devices[most] /= factor;
      }
    return options;
  }
  static Extent turned(const Extent& cells, const std::array<int, 3>& axes) {
    Extent there{};
    for (std::size_t a = 0; a < 3; ++a) there[static_cast<std::size_t>(axes[a])] = cells[a];
    return there;
  }
  static FieldOptions field(const char* name, DType type) {
    FieldOptions options;
    options.name = name;
    options.type = type;
    options.shared = true;
    return options;
  }

  Grid source_, target_;
  Transpose transpose_;
  Field from_, to_;
  std::optional<Exchange> exchange_;
  std::vector<Stream> streams_;
  double setup_seconds_ = 0, stay_ = 0, leave_ = 0, largest_ = 0;
};

nb::list bench_transpose(const Machine& machine, const Extent& cells, const Extent& from, const Extent& to,
                         const std::array<int, 3>& axes, const std::string& type, const nb::dict& exchange,
                         const std::vector<std::string>& clocks, int repeats) {
  Bench bench(machine, cells, from, to, axes, dtype_from_string(type), exchange_options(exchange));
  nb::list found;
  for (const std::string& clock : clocks) found.append(bench.measured(clock, repeats));
  return found;
}

/// Microseconds of an exchange in which each rank sends this many bytes to all ranks and itself, between host arrays.
double mpi_alltoall(std::int64_t bytes, int repeats) {
  const auto count = static_cast<int>(bytes);
  require(bytes >= 0 && count == bytes, ErrorCode::unsupported,
          "a message of MPI_Alltoall of " + std::to_string(bytes) + " bytes is too long: take smaller cubes",
          {{"given", bytes}});
  const auto all = static_cast<std::size_t>(bytes * world().size());
  std::vector<char> from(all, 1), to(all, 0);
  return host_us(repeats, [&] {
    check_mpi(MPI_Alltoall(from.data(), count, MPI_CHAR, to.data(), count, MPI_CHAR, world().mpi()), "MPI_Alltoall");
  });
}

}  // namespace

void bind_bench_transpose(nb::module_& m) {
  m.def("mpi_alltoall", &mpi_alltoall, nb::arg("bytes"), nb::arg("repeats"), nb::call_guard<Released>(),
        "Microseconds of MPI_Alltoall with messages of so many bytes between arrays of the host: median of `repeats`, "
        "slowest rank. Collective.");
  m.def("transpose", &bench_transpose, nb::arg("machine"), nb::arg("cells"), nb::arg("source"), nb::arg("target"),
        nb::arg("axes"), nb::arg("type"), nb::arg("exchange"), nb::arg("clocks"), nb::arg("repeats"),
        "Microseconds of one transpose by each clock (events, host): median of `repeats`, slowest rank; with the bytes "
        "of all values, of those that leave their device and of the largest message, and the routes between devices. "
        "source, target: devices along each axis. Collective.");
  m.def(
      "refusal_of_mpi", [](const std::string& calls) { return refusal_of(world(), mpi_calls_from_string(calls)); },
      nb::arg("calls"), nb::call_guard<Released>(),
      "Why this MPI cannot carry messages by these calls; empty where it can. Collective.");
}

}  // namespace slipstream::python

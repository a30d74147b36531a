// The timed loops of `slipstream bench exchange`.
#include <deque>

#include <slipstream/exchange.hpp>

#include "api/bench_clock.hpp"
#include "api/python_common.hpp"

namespace slipstream::python {
namespace {

constexpr int runs_per_graph = 10;

/// A periodic grid of equal blocks and quantities that exchange their halos, and nothing else.
class BenchExchange {
 public:
  BenchExchange(const Machine& machine, const Extent& cells, int quantities, const std::string& dtype, int radius,
                const std::array<bool, 3>& periodic, const Extent& device_grid, ExchangeOptions options)
      : machine_(machine),
        grid_(cells, machine_, world().rank(), grid_options(periodic, device_grid)),
        halo_(halo_options(radius)) {
    FieldOptions field;
    field.type = dtype_from_string(dtype);
    field.ghost = {radius, radius, radius};
    field.shared = true;
    std::vector<ExchangeItem> items;
    for (int q = 0; q < quantities; ++q) {
      field.name = "quantity " + std::to_string(q);
      fields_.emplace_back(grid_, field);
      items.push_back({&halo_, &fields_.back()});
    }
    for (const int d : machine_.devices_of_rank(world().rank()))
      streams_.emplace_back(machine_.device(d).local, Priority::high);
    world().barrier();
    const double start = seconds_now();
    exchange_ = std::make_unique<Exchange>(world(), grid_, std::move(items), std::move(options));
    setup_seconds_ = seconds_now() - start;
    exchange_->run(streams_);
    synchronize();
  }

  /// By device events: back to back, replayed where it can be.
  double events_us(int repeats) {
    const bool replayed = exchange_->capturable();
    const int runs = replayed ? runs_per_graph : 1;
    std::vector<Graph> graphs;
    if (replayed) {
      for (Stream& stream : streams_) stream.begin_capture();
      for (int run = 0; run < runs; ++run) exchange_->run(streams_);
      for (Stream& stream : streams_) graphs.push_back(stream.end_capture());
    }
    std::vector<std::vector<Event>> points;
    for (const Stream& stream : streams_) {
      auto& of_stream = points.emplace_back();
      for (int i = 0; i <= repeats; ++i) of_stream.emplace_back(stream.device(), true);
    }
    world().barrier();
    for (int repeat = -std::min(repeats, 10); repeat < repeats; ++repeat) {
      if (repeat == 0)
        for (std::size_t i = 0; i < streams_.size(); ++i) streams_[i].record(points[i].front());
      if (!replayed) exchange_->run(streams_);
      for (std::size_t i = 0; i < streams_.size(); ++i) {
        if (replayed) graphs[i].launch(streams_[i]);
        if (repeat >= 0) streams_[i].record(points[i][repeat + 1]);
      }
    }
    synchronize();
    std::vector<double> times(repeats, 0.0);
    for (int repeat = 0; repeat < repeats; ++repeat)
      for (const auto& device : points)
        times[repeat] = std::max(times[repeat], 1e3 * milliseconds(device[repeat], device[repeat + 1]) / runs);
    return slowest_rank_median(times);
  }

  /// By the host's clock: barrier, exchange, wait.
  double host_us(int repeats) {
    std::vector<double> times;
    for (int repeat = -std::min(repeats, 10); repeat < repeats; ++repeat) {
      world().barrier();
      const double start = seconds_now();
      exchange_->run(streams_);
      for (Stream& stream : streams_) stream.synchronize();
      if (repeat >= 0) times.push_back(1e6 * (seconds_now() - start));
    }
    exchange_->check();
    return slowest_rank_median(times);
  }

  /// Until begin() gives the host back.
  double begin_us(int repeats) {
    std::vector<double> times;
    for (int repeat = -std::min(repeats, 10); repeat < repeats; ++repeat) {
      world().barrier();
      const double start = seconds_now();
      exchange_->begin(streams_);
      if (repeat >= 0) times.push_back(1e6 * (seconds_now() - start));
      exchange_->end(streams_);
      for (Stream& stream : streams_) stream.synchronize();
    }
    exchange_->check();
    return slowest_rank_median(times);
  }

  std::vector<double> arrival_us() {
    exchange_->run(streams_);
    return exchange_->arrival_us();
  }
  const std::vector<MessageInfo>& messages() const { return exchange_->messages(); }
  double setup_seconds() const { return world().max(setup_seconds_); }
  bool capturable() const { return exchange_->capturable(); }

 private:
  static GridOptions grid_options(const std::array<bool, 3>& periodic, const Extent& device_grid) {
    GridOptions options;
    options.periodic = periodic;
    options.partition.devices = device_grid;
    return options;
  }
  static Halo::Options halo_options(int radius) {
    Halo::Options options;
    options.low = options.high = {radius, radius, radius};
    return options;
  }
  void synchronize() {
    for (Stream& stream : streams_) stream.synchronize();
    exchange_->check();
  }

  Machine machine_;
  Grid grid_;
  Halo halo_;
  std::deque<Field> fields_;
  std::vector<Stream> streams_;
  std::unique_ptr<Exchange> exchange_;
  double setup_seconds_ = 0;
};

}  // namespace

double slowest_rank_median(std::vector<double> times) {
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE, MPI_MAX, world().mpi()),
      "find the slowest rank");
  return median(times);
}

void bind_bench_exchange(nb::module_& m) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<BenchExchange>(m, "BenchExchange", "A halo exchange to be timed. All methods are collective.")
      .def(
          "__init__",
          [](BenchExchange* self, const Machine& machine, const Extent& cells, int quantities, const std::string& dtype,
             int radius, const std::array<bool, 3>& periodic, const Extent& device_grid, const nb::dict& options) {
            ExchangeOptions chosen = exchange_options(options);
            nb::gil_scoped_release release;
            new (self)
                BenchExchange(machine, cells, quantities, dtype, radius, periodic, device_grid, std::move(chosen));
          },
          nb::arg("machine"), nb::arg("cells"), nb::arg("quantities") = 4, nb::arg("dtype") = "f32",
          nb::arg("radius") = 3, nb::arg("periodic") = std::array<bool, 3>{true, true, true},
          nb::arg("device_grid") = Extent{0, 0, 0}, nb::arg("options") = nb::dict())
      .def("events_us", &BenchExchange::events_us, nb::arg("repeats") = 100, Release())
      .def("host_us", &BenchExchange::host_us, nb::arg("repeats") = 100, Release())
      .def("begin_us", &BenchExchange::begin_us, nb::arg("repeats") = 100, Release())
      .def("arrival_us", &BenchExchange::arrival_us, Release())
      .def("messages", [](const BenchExchange& self) { return message_list(self.messages()); })
      .def_prop_ro("setup_seconds", &BenchExchange::setup_seconds)
      .def_prop_ro("capturable", &BenchExchange::capturable);
}

}  // namespace slipstream::python

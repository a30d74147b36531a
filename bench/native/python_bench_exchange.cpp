// Timed code of `slipstream bench exchange`.
#include <deque>

#include <slipstream/exchange.hpp>
#include <slipstream/tuner.hpp>

#include "native/python_bench.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {
namespace {

constexpr int runs_per_graph = 10;

/// A periodic grid of equal blocks, whose fields exchange halos and are never computed.
class BenchExchange {
 public:
  BenchExchange(const Machine& machine, const Extent& cells, int quantities, const std::string& dtype, int radius,
                const std::array<bool, 3>& periodic, const Extent& device_grid, int alignment,
                const std::string& layout, const Coding& coding, ExchangeOptions options)
      : machine_(machine),
        grid_(cells, machine_, world().rank(), grid_options(periodic, device_grid)),
        halo_(halo_options(radius)),
        options_(std::move(options)) {
    FieldOptions field;
    field.type = dtype_from_string(dtype);
    field.ghost = {radius, radius, radius};
    field.shared = true;
    field.alignment = alignment;
    field.layout = layout == "auto" ? suited_layout(grid_) : layout_from_string(layout);
    layout_ = to_string(field.layout);
    // With layout aos all quantities are components of one field; with other layouts each has its own field.
    const bool together = field.layout == Layout::aos;
    field.components = together ? quantities : 1;
    for (int q = 0; q < (together ? 1 : quantities); ++q) {
      field.name = together ? "quantities" : "quantity " + std::to_string(q);
      fields_.emplace_back(grid_, field);
      items_.push_back({&halo_, &fields_.back(), nullptr, false, coding});
    }
    for (const int d : machine_.devices_of_rank(world().rank()))
      streams_.emplace_back(machine_.device(d).local, Priority::high);
    open();
  }

  /// Seconds of one exchange by device events: exchanges run back to back, replayed if possible.
  double events_us(int repeats) {
    const int runs = exchange_->capturable() ? runs_per_graph : 0;
    return checked(python::events_us(streams_, runs, repeats, [&] { exchange_->run(streams_); }));
  }

  /// Microseconds of one exchange by the host's clock: barrier, exchange, wait.
  double host_us(int repeats) {
    return checked(python::host_us(repeats, [&] {
      exchange_->run(streams_);
      synchronize(streams_);
    }));
  }

  /// Microseconds of host time until the call that begins a halo exchange returns.
  double begin_us(int repeats) {
    const auto finish = [&] {
      exchange_->end(streams_);
      synchronize(streams_);
    };
    return checked(python::host_us(
        repeats, [&] { exchange_->begin(streams_); }, finish));
  }

  /// Microseconds of a halo exchange on the host's clock, begun and ended by two calls, as around computation.
  double begin_end_us(int repeats) {
    return checked(python::host_us(repeats, [&] {
      exchange_->begin(streams_);
      exchange_->end(streams_);
      synchronize(streams_);
    }));
  }

  /// Set-up time with a warm tuner cache, on the slowest rank: tuner, constructor and the first begin(). No other
  /// exchange exists meanwhile, so all memory is mapped again. Kernels stay loaded.
  double warm_setup_seconds(const std::string& cache_folder) {
    exchange_.reset();
    TuneOptions how;
    how.cache_folder = cache_folder;
    tune(world(), grid_, items_, options_, how);
    world().barrier();
    const double start = seconds_now();
    exchange_ = std::make_unique<Exchange>(world(), grid_, items_, tuned(world(), grid_, items_, options_, how));
    exchange_->begin(streams_);
    const double seconds = seconds_now() - start;
    exchange_->end(streams_);
    synchronize(streams_);
    exchange_->check();
    exchange_.reset();
    open();
    return world().max(seconds);
  }

  const std::vector<MessageInfo>& messages() const { return exchange_->messages(); }
  const std::string& layout() const { return layout_; }
  bool capturable() const { return exchange_->capturable(); }

 private:
  void open() {
    exchange_ = std::make_unique<Exchange>(world(), grid_, items_, options_);
    exchange_->run(streams_);
    synchronize(streams_);
    exchange_->check();
  }
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
  /// Returns the measured time, or throws if one of the timed exchanges failed.
  double checked(double time) {
    exchange_->check();
    return time;
  }

  Machine machine_;
  Grid grid_;
  Halo halo_;
  ExchangeOptions options_;
  std::deque<Field> fields_;
  std::vector<ExchangeItem> items_;
  std::vector<Stream> streams_;
  std::unique_ptr<Exchange> exchange_;
  std::string layout_;
};

}  // namespace

void bind_bench_exchange(nb::module_& m) {
  using Release = nb::call_guard<Released>;
  nb::class_<BenchExchange>(m, "Exchange", "Times a halo exchange. All methods are collective.")
      .def(
          "__init__",
          [](BenchExchange* self, const Machine& machine, const Extent& cells, int quantities, const std::string& dtype,
             int radius, const std::array<bool, 3>& periodic, const Extent& device_grid, int alignment,
             const std::string& layout, const std::string& coding, const nb::dict& options) {
            ExchangeOptions chosen = exchange_options(options);
            const Coding how = coding_from_string(coding);
            Released release;
            new (self) BenchExchange(machine, cells, quantities, dtype, radius, periodic, device_grid, alignment,
                                     layout, how, std::move(chosen));
          },
          nb::arg("machine"), nb::arg("cells"), nb::arg("quantities") = 4, nb::arg("dtype") = "f32",
          nb::arg("radius") = 3, nb::arg("periodic") = std::array<bool, 3>{true, true, true},
          nb::arg("device_grid") = Extent{0, 0, 0}, nb::arg("alignment") = FieldOptions{}.alignment,
          nb::arg("layout") = "auto", nb::arg("coding") = "raw", nb::arg("options") = nb::dict())
      .def("events_us", &BenchExchange::events_us, nb::arg("repeats") = 100, Release())
      .def("host_us", &BenchExchange::host_us, nb::arg("repeats") = 100, Release())
      .def("begin_us", &BenchExchange::begin_us, nb::arg("repeats") = 100, Release())
      .def("begin_end_us", &BenchExchange::begin_end_us, nb::arg("repeats") = 100, Release())
      .def("warm_setup_seconds", &BenchExchange::warm_setup_seconds, nb::arg("cache_folder"), Release())
      .def("messages", [](const BenchExchange& self) { return message_list(self.messages()); })
      .def_prop_ro("layout", &BenchExchange::layout)
      .def_prop_ro("capturable", &BenchExchange::capturable);
}

}  // namespace slipstream::python

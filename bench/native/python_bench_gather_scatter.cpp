// Timed code of `slipstream bench gather_scatter`: a cube of hexahedral elements, cut along z for the devices.
#include <slipstream/gather_scatter.hpp>

#include "native/host_memory.hpp"
#include "native/python_bench.hpp"
#include "native/routes_taken.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {
namespace {

/// A cube of elements in order, x fastest; points of each, x fastest, order + 1 along each axis. Neighbouring elements
/// share points. Points inside elements have no id.
class Cube {
 public:
  Cube(std::int64_t elements, int order) : n_(elements), order_(order) {}
  std::int64_t per_element() const { return std::int64_t{order_ + 1} * (order_ + 1) * (order_ + 1); }

  std::vector<std::int64_t> ids(std::int64_t first, std::int64_t last) const {
    std::vector<std::int64_t> found;
    found.reserve(static_cast<std::size_t>((last - first) * per_element()));
    const std::int64_t wide = n_ * order_ + 1;
    for (std::int64_t e = first; e < last; ++e) {
      const std::int64_t x = e % n_, y = e / n_ % n_, z = e / (n_ * n_);
      for (int k = 0; k <= order_; ++k)
        for (int j = 0; j <= order_; ++j)
          for (int i = 0; i <= order_; ++i) {
            const bool inside = inner(i) && inner(j) && inner(k);
            found.push_back(inside ? 0 : 1 + x * order_ + i + wide * (y * order_ + j + wide * (z * order_ + k)));
          }
    }
    return found;
  }
  std::int64_t elements() const { return n_ * n_ * n_; }

 private:
  bool inner(int i) const { return i > 0 && i < order_; }
  std::int64_t n_;
  int order_;
};

/// Times gather-scatters of zeros, whose sums stay zero; each rank holds the values of its own devices.
class Bench {
 public:
  Bench(const Machine& machine, std::int64_t elements, int order, GatherScatterOptions options) {
    constexpr std::int64_t elements_of_a_block = 64;
    const Cube cube(elements, order);
    const std::int64_t block = elements_of_a_block * cube.per_element(), devices = machine.devices();
    const std::int64_t blocks = (cube.elements() + elements_of_a_block - 1) / elements_of_a_block;
    std::vector<std::vector<std::int64_t>> ids;
    std::vector<SharedPoints> points;
    for (const int d : machine.devices_of_rank(world().rank())) {
      const std::int64_t first = blocks * d / devices, last = blocks * (d + 1) / devices;
      ids.push_back(cube.ids(std::min(first * elements_of_a_block, cube.elements()),
                             std::min(last * elements_of_a_block, cube.elements())));
      points.push_back({ids.back(), first, block});
    }
    const HostMemory memory;
    const double began = seconds_now();
    gather_scatter_.emplace(world(), machine, points, options);
    setup_seconds_ = world().max(seconds_now() - began);
    const double peak = memory.peak();
    setup_bytes_ = world().all(peak >= 0) ? world().sum_in_rank_order(peak) : -1;
    std::size_t at = 0;
    for (const int d : machine.devices_of_rank(world().rank())) {
      const Device device = machine.device(d).local;
      streams_.emplace_back(device, Priority::high);
      const std::size_t count = std::max<std::size_t>(1, ids[at].size());
      points_ += static_cast<std::int64_t>(ids[at++].size());
      arrays_.emplace_back(device, count * static_cast<std::size_t>(options.components) * size_of(options.type));
      all_.push_back({arrays_.back().data(), 0});
      fill(streams_.back(), arrays_.back().data(), 0, arrays_.back().bytes());
    }
    synchronize(streams_);
  }

  /// Times gather-scatters. The clock "calls" times `calls` of them in a row, with one wait of the host at the end.
  nb::dict measured(const std::string& clock, int repeats, int calls) {
    const auto run = [&] { gather_scatter_->run(streams_, all_); };
    const Exchange* exchange = gather_scatter_->exchange();
    const bool captured = clock == "events" && !(exchange && exchange->needs_host());
    const int together = clock == "calls" ? calls : 1;
    const auto waited = [&] {
      for (int n = 0; n < together; ++n) run();
      synchronize(streams_);
    };
    const double time = clock == "events" ? events_us(streams_, captured ? 10 : 0, repeats, run)
                                          : host_us(clock == "calls" ? 3 : repeats, waited) / together;
    gather_scatter_->check();
    double surface = 0, sent = 0;
    for (std::size_t d = 0; d < streams_.size(); ++d) {
      surface += static_cast<double>(gather_scatter_->counts(d).shared_points);
      sent += static_cast<double>(gather_scatter_->counts(d).sent_values);
    }
    nb::dict found;
    found["time_us"] = time;
    found["setup_s"] = setup_seconds_;
    found["setup_bytes"] = setup_bytes_;
    found["points"] = world().sum_in_rank_order(static_cast<double>(points_));
    found["shared_points"] = world().sum_in_rank_order(surface);
    found["sent_values"] = world().sum_in_rank_order(sent);
    found["routes"] = routes_taken(exchange ? exchange->messages() : std::vector<MessageInfo>{});
    return found;
  }

 private:
  std::optional<GatherScatter> gather_scatter_;
  std::vector<Stream> streams_;
  std::vector<Buffer<std::byte>> arrays_;
  std::vector<GatherScatter::Array> all_;
  std::int64_t points_ = 0;
  double setup_seconds_ = 0, setup_bytes_ = 0;  // peak host memory of the set-up in setup_bytes_; -1: unknown
};

nb::list bench_gather_scatter(const Machine& machine, std::int64_t elements, int order, const std::string& type,
                              int components, const nb::dict& exchange, bool host_packed,
                              const std::vector<std::string>& clocks, int repeats, int calls) {
  GatherScatterOptions options{dtype_from_string(type), components, exchange_options(exchange)};
  options.host_packed = host_packed;
  Bench bench(machine, elements, order, options);
  nb::list found;
  for (const std::string& clock : clocks) found.append(bench.measured(clock, repeats, calls));
  return found;
}

}  // namespace

void bind_bench_gather_scatter(nb::module_& m) {
  m.def("gather_scatter", &bench_gather_scatter, nb::arg("machine"), nb::arg("elements"), nb::arg("order"),
        nb::arg("type"), nb::arg("components"), nb::arg("exchange"), nb::arg("host_packed"), nb::arg("clocks"),
        nb::arg("repeats"), nb::arg("calls"),
        "Microseconds of one gather-scatter of a cube of elements by each clock (events, host, calls): median of "
        "`repeats`, of three loops of `calls`; slowest rank. Collective.");
}

}  // namespace slipstream::python

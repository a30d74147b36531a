// Launches of an exchange on the devices of one process, without an Exchange object.
#include <gtest/gtest.h>

#include "support/exchange_parts.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

constexpr Extent cells{12, 10, 16};

/// Exchange of a periodic box in blocks, two on each of two devices.
class LaunchesOn : public testing::TestWithParam<const char*> {
 protected:
  static GridOptions four_blocks() {
    GridOptions options = all_periodic();
    options.partition.blocks_per_device = {1, 1, 2};
    return options;
  }
  void make(const ExchangeOptions& wanted = {}, bool produced = false) {
    ExchangeOptions options = wanted;
    options.routes = routes_from_string(GetParam());
    parts.emplace(grid, std::vector<ExchangeItem>{{.pattern = &halo, .source = &u, .produced = produced}}, options);
    for (const auto& mine : parts->memory->devices)
      launches.push_back(std::make_unique<Launches>(parts->plan, *parts->memory, *parts->arrays, *mine));
    for (std::size_t c = 0; c < parts->plan.channels.size(); ++c) {
      const Message& m = parts->plan.channels[c].message;
      launches[static_cast<std::size_t>(m.source)]->add_sender(c);
      launches[static_cast<std::size_t>(m.target)]->add_receiver(c);
    }
    std::optional<Reads> reads;
    if (options.poison) reads.emplace(grid, parts->arrays->items, parts->plan.bundles);
    for (const auto& each : launches) each->make_programs(reads);
  }
  static double value(const Extent& p) {
    double number = 0;
    for (int a = 3; a-- > 0;) number = 100 * number + static_cast<double>((p[a] + cells[a]) % cells[a]);
    return number;
  }
  /// Calls f(value, expected value, whether the cell is interior) for all cells and ghosts.
  template <class F>
  void each_cell(F f) {
    for (const std::int64_t id : grid.local()) {
      const Box& box = grid.block(id).box;
      auto* const array = reinterpret_cast<double*>(u.array(id, 0));
      each_in(u.shape(id), everything(box.extents(), u.options()), [&](const Extent& p, int, std::int64_t at) {
        f(array[at], value({p[0] + box.lo[0], p[1] + box.lo[1], p[2] + box.lo[2]}),
          Box{{0, 0, 0}, box.extents()}.contains(p));
      });
    }
  }
  void set() {
    each_cell([](double& v, double right, bool inside) { v = inside ? right : -1; });
  }
  std::int64_t wrong() {
    std::int64_t found = 0;
    each_cell([&](double v, double right, bool) { found += v != right; });
    return found;
  }
  /// Runs one exchange. All devices send before any of them receives.
  void exchange(std::uint64_t number) {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      Stream& own = launches[i]->behind(streams[i]);
      launches[i]->start(number, own);
      launches[i]->send(own, false);
    }
    for (std::size_t i = 0; i < launches.size(); ++i)
      if (launches[i]->transfers()) launches[i]->transfer(number, parts->memory->devices[i]->stream);
    for (std::size_t i = 0; i < launches.size(); ++i) {
      launches[i]->receive(number, parts->memory->devices[i]->stream);
      launches[i]->join(streams[i]);
    }
    finish(streams);
  }

  Grid grid{cells, machine_here(Backend::host, 2), 0, four_blocks()};
  Field u{grid, doubles("u")};
  const Halo halo{Halo::Options{}};
  std::vector<Stream> streams = streams_of(grid);
  std::optional<Parts> parts;
  std::vector<std::unique_ptr<Launches>> launches;
};

TEST_P(LaunchesOn, TwoDevicesFillTheGhosts) {
  make();
  for (const std::uint64_t number : {1, 2, 3}) {
    set();
    exchange(number);
    EXPECT_EQ(wrong(), 0) << "exchange " << number;
    for (const auto& mine : parts->memory->devices) EXPECT_EQ(*mine->sequence(), number);
  }
}

TEST_P(LaunchesOn, OneLaunchADeviceFillsThemWhereNothingIsQueuedBetween) {
  make();
  set();
  for (const auto& each : launches)
    if (each->transfers() || each->delivers()) GTEST_SKIP() << "copies are queued between sending and arrival";
  for (std::size_t i = 0; i < launches.size(); ++i) launches[i]->run(streams[i]);
  finish(streams);
  EXPECT_EQ(wrong(), 0);
}

TEST_P(LaunchesOn, TellWhenEachMessageCame) {
  make();
  set();
  exchange(1);
  std::vector<double> times(parts->plan.channels.size(), -1);
  for (const auto& each : launches) each->arrivals(times);
  for (const double microseconds : times) EXPECT_GT(microseconds, 0);
}

TEST_P(LaunchesOn, LeaveNoPoisonInGhosts) {
  ExchangeOptions options;
  options.poison = true;
  make(options);
  set();
  exchange(1);
  EXPECT_EQ(wrong(), 0);
  for (const auto& each : launches) EXPECT_EQ(each->poison()->left().count, 0);
}

/// Windows (receive memory for the caller's kernels) keep their poison value, because nothing writes to them.
TEST_P(LaunchesOn, TellOfWindowsThatNobodyStoredTo) {
  ExchangeOptions options;
  options.poison = true;
  make(options, true);
  set();
  for (std::size_t i = 0; i < launches.size(); ++i) {
    launches[i]->open(1, launches[i]->behind(streams[i]));
    launches[i]->join(streams[i]);
  }
  for (std::size_t i = 0; i < launches.size(); ++i) launches[i]->send(launches[i]->behind(streams[i]), true);
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (launches[i]->transfers()) launches[i]->transfer(1, parts->memory->devices[i]->stream);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    launches[i]->receive(1, parts->memory->devices[i]->stream);
    launches[i]->join(streams[i]);
  }
  finish(streams);
  for (const auto& each : launches) {
    std::int64_t values = 0;
    for (const Window& w : each->windows().at(0).list)
      values += (w.hi[0] - w.lo[0]) * (w.hi[1] - w.lo[1]) * (w.hi[2] - w.lo[2]);
    const Poison::Left left = each->poison()->left();
    EXPECT_GT(values, 0);
    EXPECT_EQ(left.count, values);
    expect_error([&] { throw each->poison()->unwritten(1, left.count); }, ErrorCode::wrong_state,
                 {{"sequence", 1}, {"values", values}, {"item", 0}, {"field", "u"}, {"pattern", "halo"}});
  }
}

INSTANTIATE_TEST_SUITE_P(Routes, LaunchesOn, testing::Values("kernel,direct", "kernel,peer"), [](const auto& info) {
  return info.param == std::string("kernel,direct") ? "direct" : "peer";
});

}  // namespace
}  // namespace slipstream

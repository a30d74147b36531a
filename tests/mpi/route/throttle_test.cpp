// Exchanges as slow as a given network: they arrive right and not too early, and other routes say why they cannot.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <optional>

#include "support/error_text.hpp"
#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

constexpr double slow_gb_per_s = 0.01, slow_us = 3000;

/// Two devices a rank with a cube each, periodic.
struct Slow {
  explicit Slow(int ranks_per_node = 0)
      : machine(machine_here(Backend::host, 2, ranks_per_node)),
        grid({16 * machine.devices(), 16, 16}, machine, comm.rank(), periodic()),
        field(grid, of_field()) {
    options.throttle = {slow_gb_per_s, slow_us};
  }
  static GridOptions periodic() {
    GridOptions options;
    options.periodic = {true, true, true};
    return options;
  }
  static FieldOptions of_field() {
    FieldOptions options;
    options.name = "u";
    options.type = DType::f64;
    options.ghost = {1, 1, 1};
    options.shared = true;
    return options;
  }
  std::string refused() {
    return error_of([&] { Exchange(comm, grid, {{&halo, &field}}, options); });
  }
  static double value(const Extent& p, int round) {
    return static_cast<double>(p[0] + 1000 * p[1] + 1000000 * p[2]) + 0.5 * round;
  }
  Extent wrapped(const Extent& p, const Box& box) const {
    Extent global{};
    for (int a = 0; a < 3; ++a) global[a] = (box.lo[a] + p[a] + grid.extent()[a]) % grid.extent()[a];
    return global;
  }

  Communicator comm = Communicator::world();
  Machine machine;
  Grid grid;
  Field field;
  const Halo halo{Halo::Options{}};
  ExchangeOptions options;
};

/// By the nodes of the ranks: one node, or one for each rank.
class Throttled : public testing::TestWithParam<std::tuple<int, Grouping, std::int64_t, RouteKind>> {};

TEST_P(Throttled, MessagesArriveRightAndNoEarlierThanTheyMay) {
  Slow s(std::get<0>(GetParam()));
  s.options.knobs.grouping = std::get<1>(GetParam());
  s.options.knobs.chunk = std::get<2>(GetParam());
  s.options.routes = {RouteKind::kernel, std::get<3>(GetParam())};
  Exchange exchange(s.comm, s.grid, {{&s.halo, &s.field}}, s.options);
  std::vector<Stream> streams = streams_of(s.grid);
  double least = 0;
  for (const MessageInfo& m : exchange.messages())
    if (m.source != m.target) least = std::max(least, s.options.throttle.seconds(static_cast<double>(m.bytes)));
  for (int round = 0; round < 3; ++round) {
    for (const std::int64_t id : s.grid.local()) {
      std::vector<double> values(static_cast<std::size_t>(s.field.shape(id).elements), -1);
      each_in(s.field.shape(id), {{{0, 0, 0}, s.grid.block(id).box.extents()}, {0}, nullptr},
              [&](const Extent& p, int, std::int64_t at) {
                values[static_cast<std::size_t>(at)] = Slow::value(s.wrapped(p, s.grid.block(id).box), round);
              });
      set_array(s.field, id, values);
    }
    s.comm.barrier();
    const auto begun = std::chrono::steady_clock::now();
    exchange_once(exchange, streams, round);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    // Who is slow to begin finds messages that others have sent before.
    if (s.comm.size() == 1) {
      EXPECT_GE(seconds, least);
    }
    for (const std::int64_t id : s.grid.local()) {
      const std::vector<double> have = array_of<double>(s.field, id);
      const Box& box = s.grid.block(id).box;
      each_in(s.field.shape(id), everything(box.extents(), s.field.options()),
              [&](const Extent& p, int, std::int64_t at) {
                ASSERT_EQ(have[static_cast<std::size_t>(at)], Slow::value(s.wrapped(p, box), round)) << "block " << id;
              });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Throttled,
                         testing::Combine(testing::Values(0, 1), testing::Values(Grouping::devices, Grouping::nodes),
                                          testing::Values(std::int64_t{0}, std::int64_t{1024}),
                                          testing::Values(RouteKind::staged, RouteKind::gpu_mpi)),
                         [](const auto& info) {
                           return to_string(std::get<3>(info.param)) +
                                  (std::get<0>(info.param) ? "_nodes_of_one_rank" : "_one_node") + "_by_" +
                                  to_string(std::get<1>(info.param)) + (std::get<2>(info.param) ? "_in_pieces" : "");
                         });

TEST(ThrottleRefuses, RoutesWithoutAHostBetween) {
  Slow s;
  for (const RouteKind kind : {RouteKind::direct, RouteKind::peer, RouteKind::colocated}) {
    s.options.routes = {RouteKind::kernel, kind};
    expect_words(s.refused(), {"no allowed route joins two of the devices"});
  }
  s.options.routes = {RouteKind::kernel, RouteKind::direct};
  expect_words(s.refused(),
               {"not direct: the throttle slows messages that the host sends, and this route's are moved"});
}

TEST(ThrottleRefuses, RatesAndLatenciesOutOfRange) {
  Slow s;
  for (const Throttle& bad : {Throttle{-1, 0}, {1e-7, 0}, {1001, 0}, {0, 2}, {std::nan(""), 0}}) {
    s.options.throttle = bad;
    expect_words(s.refused(), {"a throttle of ", " GB/s: give a rate from 1e-06 to 1000 GB/s"});
  }
  for (const double bad : {-1.0, 2e7, std::nan("")}) {
    s.options.throttle = {1, bad};
    expect_words(s.refused(), {"a throttle with a latency of ", " us: give one from 0 to 1e+07 us"});
  }
}

TEST(ThrottleRefuses, MessagesThatTakeLongerThanAWait) {
  Slow s;
  s.options.throttle = {1e-6, 0};
  s.options.wait_limit = 1;
  expect_words(s.refused(), {" s by the throttle 1e-06 GB/s, and waits end after 1.0", "give a longer wait_limit"});
}

TEST(ThrottleRefuses, AnotherThrottleOnOneRank) {
  Slow s;
  if (s.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  if (s.comm.rank() == 1) s.options.throttle.latency_us = 1;
  expect_words(s.refused(), {"with other ghosts, blocks, routes, knobs or throttle"});
}

TEST(ThrottleRefuses, TextsThatItCannotRead) {
  EXPECT_EQ(throttle_from_string("12.5 GB/s, 2 us"), (Throttle{12.5, 2}));
  EXPECT_EQ(throttle_from_string("0.1 GB/s"), (Throttle{0.1, 0}));
  EXPECT_EQ(throttle_from_string("none"), Throttle{});
  for (const char* text : {"12.5 GB/s, 2 us", "0.1 GB/s", "none", "0.123456789012 GB/s"})
    EXPECT_EQ(to_string(throttle_from_string(text)), text);
  for (const char* text : {"", "fast", "12.5", "12.5 GB", "12.5 GB/s 2 us", "12.5 GB/s, 2", "1 GB/s, 2 us, 3", "GB/s"})
    expect_words(error_of([&] { throttle_from_string(text); }),
                 {"cannot read the throttle '" + std::string(text) + "': write a rate and a latency"});
  expect_words(error_of([] { throttle_from_string("0 GB/s"); }), {"a throttle of 0 GB/s: give a rate from"});
}

}  // namespace
}  // namespace slipstream

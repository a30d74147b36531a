// Exchanges throttled to a given network rate: results are correct and not too early. Unsupported routes give the
// reason.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <optional>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

constexpr double slow_gb_per_s = 0.01, slow_us = 3000;

/// A periodic grid on two devices per rank, with one cube each.
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
  std::optional<Error> refused() {
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

/// Parameters: all ranks in one node, or one node per rank.
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
    // A rank that begins late finds messages that others sent earlier.
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

TEST(ThrottleRefuses, AnotherThrottleOnOneRank) {
  Slow s;
  if (s.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  if (s.comm.rank() == 1) s.options.throttle.latency_us = 1;
  expect_error(s.refused(), ErrorCode::mismatch, {{"rank", 1}});
}

}  // namespace
}  // namespace slipstream

// The rules that choose a route from facts about the devices.
#include <gtest/gtest.h>

#include <slipstream/exchange.hpp>

namespace slipstream {
namespace {

/// Two ranks on one GPU. With time slicing, a kernel that waits for the other rank wastes its time slice.
class OneGpuOfTwoRanks : public testing::TestWithParam<bool> {
 protected:
  OneGpuOfTwoRanks() {
    std::vector<MachineDevice> devices(2);
    for (int rank = 0; rank < 2; ++rank) {
      devices[rank].rank = rank;
      devices[rank].local = {Backend::cuda, 0};
      devices[rank].uuid = "one";
      devices[rank].memory = 1 << 30;
      devices[rank].takes_turns = GetParam();
    }
    const std::vector<Link> links(4, {LinkKind::same, 100, true});
    grid_.emplace(Extent{16, 16, 16}, Machine("test", devices, links), 0);
    field_.name = "u";
    field_.ghost = {1, 1, 1};
    field_.shared = true;
  }

  MessageInfo between(const ExchangeOptions& options) const {
    for (const MessageInfo& message : plan_messages(*grid_, {{&halo_, field_}}, options))
      if (message.source != message.target) return message;
    throw std::logic_error("no message between the ranks");
  }

  std::optional<Grid> grid_;
  Halo halo_{Halo::Options{}};
  FieldOptions field_;
};

TEST_P(OneGpuOfTwoRanks, TakesWhatWaitsOnTheHostWhereTheyTakeTurns) {
  ExchangeOptions options;
  options.routes = routes_from_string("direct,colocated,staged");
  const MessageInfo found = between(options);
  EXPECT_EQ(found.route, GetParam() ? RouteKind::staged : RouteKind::direct) << found.reason;
  EXPECT_EQ(found.reason.find("take turns") != std::string::npos, GetParam()) << found.reason;
}

TEST_P(OneGpuOfTwoRanks, TakesWhatWaitsOnTheGpuWhereNothingElseIsAllowed) {
  ExchangeOptions options;
  options.routes = routes_from_string("direct,colocated");
  EXPECT_EQ(between(options).route, RouteKind::direct);
}

INSTANTIATE_TEST_SUITE_P(Machines, OneGpuOfTwoRanks, testing::Bool(),
                         [](const auto& info) { return info.param ? "taking_turns" : "at_once"; });

TEST(Rules, HoldForAllPairsOfWhichTheSameIsTrueButThoseThatWereMeasured) {
  std::vector<MachineDevice> devices(4);
  for (int rank = 0; rank < 4; ++rank) {
    devices[rank].rank = rank;
    devices[rank].node = rank / 2;
    devices[rank].local = {Backend::cuda, rank % 2};
    devices[rank].uuid = std::to_string(rank);
    devices[rank].memory = 1 << 30;
  }
  std::vector<Link> links(16, {LinkKind::nvlink, 100, true});
  for (int source = 0; source < 4; ++source)
    for (int target = 0; target < 4; ++target) {
      if (source == target) links[5 * source] = {LinkKind::same, 1000, true};
      if (source / 2 != target / 2) links[4 * source + target] = {LinkKind::network, 10, false};
    }
  const Grid grid({64, 16, 16}, Machine("test", devices, links), 0);
  FieldOptions field;
  field.name = "u";
  field.ghost = {1, 1, 1};
  field.shared = true;
  ExchangeOptions options;
  options.routes = routes_from_string("direct,staged");
  options.chosen[{1, 0}] = RouteKind::staged;
  options.reasons[{1, 0}] = "measured: staged 3 us";
  const Halo halo{Halo::Options{}};
  int beside = 0, apart = 0;
  for (const MessageInfo& message : plan_messages(grid, {{&halo, field}}, options)) {
    const bool near = message.source / 2 == message.target / 2;
    if (message.source == 1 && message.target == 0) {
      EXPECT_EQ(message.route, RouteKind::staged);
      EXPECT_EQ(message.reason, "measured: staged 3 us");
      continue;
    }
    EXPECT_EQ(message.route, near ? RouteKind::direct : RouteKind::staged) << message.reason;
    ++(near ? beside : apart);
  }
  EXPECT_EQ(beside, 3);
  EXPECT_GE(apart, 2);
}

}  // namespace
}  // namespace slipstream

// Which route the rules take, from facts about the devices alone.
#include <gtest/gtest.h>

#include <slipstream/exchange.hpp>

namespace slipstream {
namespace {

/// Two ranks on one GPU: where they take turns, a kernel that waits for the other rank uses up a turn.
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

}  // namespace
}  // namespace slipstream

// Errors when a rank waits in vain for another one.
#include <gtest/gtest.h>

#include <memory>

#include "exchange/waits.hpp"
#include "support/exchange_parts.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

class WaitsOf : public testing::Test {
 protected:
  WaitsOf() {
    waits.add(0, &told[0]);
    waits.add(1, &told[1]);
  }
  const Communicator comm = Communicator::world();
  const Grid grid{{16, 16, 16}, planned_machine(2, 2), 0, all_periodic()};
  const Halo halo{Halo::Options{}};
  static ExchangeOptions impatient() {
    ExchangeOptions options;
    options.wait_limit = 0.05;
    return options;
  }
  const Plan plan = routed(grid, {{&halo, doubles("u")}}, impatient());
  Failure told[2];
  Waits waits{comm, plan};
};

TEST_F(WaitsOf, DevicesSayWhoWaitedForWhom) {
  EXPECT_FALSE(waits.late());
  told[1] = {.set = 1, .sequence = 9, .peer = 3};
  EXPECT_TRUE(waits.late());
  expect_error([&] { waits.check(); }, ErrorCode::timeout,
               {{"device", 1}, {"peer", 3}, {"peer_rank", 1}, {"sequence", 9}, {"fields", "u"}, {"limit", 0.05}});
}

TEST_F(WaitsOf, DevicesWhoseNeighbourHasEndedSaySo) {
  told[0] = {.set = 1, .sequence = 2, .peer = -1};
  expect_error([&] { waits.check(); }, ErrorCode::timeout, {{"device", 0}, {"rank", 0}, {"sequence", 2}});
}

TEST_F(WaitsOf, TheHostAreCached) {
  expect_error([&] { waits.give_up(plan.too_late(4, "the host waited", "rank 1", 1)); }, ErrorCode::timeout,
               {{"sequence", 4}});
  expect_error([&] { waits.check(); }, ErrorCode::timeout, {{"sequence", 4}, {"whom", "rank 1"}});
}

TEST_F(WaitsOf, DevicesTellOfTheGreatestItemThatIsTooLarge) {
  EXPECT_EQ(waits.too_large(), 0);
  told[0].overflow = 1;
  told[1].overflow = 3;
  EXPECT_EQ(waits.too_large(), 3);
  EXPECT_FALSE(waits.late());
}

TEST_F(WaitsOf, WorkThatIsOverAskNoLibrary) {
  const auto state = std::make_shared<FakeState>();
  waits.guard({{RouteKind::peer, state}});
  waits.finish(1, [] { return true; });
  EXPECT_EQ(state->abandoned, 0);
  EXPECT_FALSE(waits.late());
}

TEST_F(WaitsOf, WorkThatDoesNotEndHaveLibrariesGiveUp) {
  const auto state = std::make_shared<FakeState>();
  waits.guard({{RouteKind::peer, state}});
  waits.finish(5, [] { return false; });
  EXPECT_EQ(state->abandoned, 1);
  expect_error([&] { waits.check(); }, ErrorCode::timeout, {{"device", 0}, {"sequence", 5}});
}

TEST_F(WaitsOf, WorkThatNoLibraryWaitsInAreNotWatched) {
  int done = 0;
  waits.guard({{RouteKind::peer, std::make_shared<FakeState>()}});
  waits.watched(1, {}, [&] { ++done; });
  waits.watched_delivery(1, {}, [&] { ++done; });
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace slipstream

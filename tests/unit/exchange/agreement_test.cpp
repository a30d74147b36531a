// Agreement between ranks about sequence numbers and errors, here with one rank.
#include <gtest/gtest.h>

#include "exchange/agreement.hpp"
#include "support/exchange_parts.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

/// An exchange with coded values on one rank with two devices.
struct Agreed {
  explicit Agreed(const std::string& routes, bool produced = false) {
    ExchangeOptions options;
    options.routes = routes_from_string(routes);
    options.wait_limit = 0.05;
    options.poison = produced;
    const Coding coding{produced ? Coding::Kind::raw : Coding::Kind::cast};
    const std::vector<PlannedItem> items{{&halo, doubles("u"), {}, false, coding, produced}};
    plan.emplace(routed(grid, items, options));
    waits.emplace(comm, *plan);
    waits->add(0, &told);
    agreement.emplace(comm, *plan, *waits, [this] { return unwritten; });
    agreement->compare_messages();
    loops = agreement->settle_captures(*plan);
  }
  const Communicator comm = Communicator::world();
  const Grid grid{{16, 16, 16}, machine_here(Backend::host, 2), 0, all_periodic()};
  const Halo halo{Halo::Options{}};
  Failure told;
  Problem unwritten;
  std::optional<Plan> plan;
  std::optional<Waits> waits;
  std::optional<Agreement> agreement;
  bool loops = false;
};

TEST(AgreementOf, HostsThatDriveNoRouteAsksNowAndThen) {
  Agreed agreed("kernel,direct");
  EXPECT_FALSE(agreed.agreement->told_at_end());
  EXPECT_TRUE(agreed.plan->capturable);
  EXPECT_TRUE(agreed.loops);
  agreed.told.overflow = 1;
  int begun = 0;
  const auto error = error_of([&] {
    for (; begun < 200; ++begun) agreed.agreement->ask_now_and_then(static_cast<std::uint64_t>(begun));
  });
  EXPECT_EQ(begun, 64);
  expect_error(error, ErrorCode::overflow, {{"item", 0}, {"field", "u"}, {"pattern", "halo"}, {"coding", "cast"}});
  expect_error([&] { agreed.agreement->check(70); }, ErrorCode::overflow, {{"sequence", 70}});
}

TEST(AgreementOf, HostsThatDriveNoRouteAsksAtLast) {
  Agreed agreed("kernel,direct");
  agreed.agreement->ask_last(1);
  agreed.agreement->ask_at_end(1, [] { return false; });  // ranks report no overflow here, as no host drives a route
  agreed.told.overflow = 1;
  expect_error([&] { agreed.agreement->ask_last(1); }, ErrorCode::overflow, {{"sequence", 1}});
}

TEST(AgreementOf, HostsThatDriveARouteAsksAtTheEnd) {
  Agreed agreed("kernel,staged");
  EXPECT_TRUE(agreed.agreement->told_at_end());
  EXPECT_FALSE(agreed.plan->capturable);
  EXPECT_FALSE(agreed.loops);
  for (int begun = 0; begun < 200; ++begun) agreed.agreement->ask_now_and_then(1);
  agreed.agreement->ask_at_end(1, [] { return true; });
  agreed.told.overflow = 1;
  expect_error([&] { agreed.agreement->ask_at_end(2, [] { return true; }); }, ErrorCode::overflow, {{"sequence", 2}});
}

TEST(AgreementOf, DevicesThatDoNotEncodeGivesUp) {
  Agreed agreed("kernel,staged");
  expect_error([&] { agreed.agreement->ask_at_end(3, [] { return false; }); }, ErrorCode::timeout,
               {{"sequence", 3}, {"limit", 0.1}});
  EXPECT_TRUE(agreed.waits->late());
}

TEST(AgreementOf, WindowsTellsOfThoseThatNobodyStoredTo) {
  Agreed agreed("kernel,direct", true);
  EXPECT_TRUE(agreed.agreement->told_at_end());
  EXPECT_FALSE(agreed.plan->capturable) << "hosts must ask at each end";
  const auto done = [] { return true; };
  agreed.agreement->ask_at_end(1, done);
  agreed.unwritten = Unwritten("left", {{"item", 0}});
  expect_error([&] { agreed.agreement->ask_at_end(2, done); }, ErrorCode::wrong_state, {{"item", 0}});
  agreed.unwritten.reset();
  expect_error([&] { agreed.agreement->check(3); }, ErrorCode::wrong_state, {{"item", 0}});
}

TEST(AgreementOf, RoutesPreparesThoseThatAreUsed) {
  Agreed agreed("kernel,staged");
  RouteStates states;
  agreed.agreement->prepare_routes(states);
  agreed.plan->take(states);
  for (const auto& [kind, state] : states) EXPECT_TRUE(kind == RouteKind::staged || kind == RouteKind::kernel);
  EXPECT_TRUE(agreed.agreement->leave(1));
}

}  // namespace
}  // namespace slipstream

// Plans of one rank on described machines, without the devices of these machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "support/exchange_parts.hpp"
#include "support/expect_error.hpp"
#include "support/option_changes.hpp"

namespace slipstream {
namespace {

/// Sender and receiver compute equal descriptions of a message without communication.
TEST(PlanOf, BothEndsOfAMessageAgrees) {
  const Machine machine = planned_machine(4, 2);
  const Halo halo{Halo::Options{}};
  for (const char* routes : {"kernel,direct,staged", "kernel,peer,colocated,staged", "kernel,staged"})
    for (const std::int64_t chunk : {0, 1024}) {
      SCOPED_TRACE(routes + std::string(", chunks of ") + std::to_string(chunk));
      ExchangeOptions options;
      options.routes = routes_from_string(routes);
      options.knobs.chunk = chunk;
      using End = std::tuple<RouteKind, std::size_t, std::uint64_t, int, std::size_t, int, int, bool>;
      std::map<std::pair<int, int>, std::vector<End>> ends;
      std::uint64_t hash = 0;
      for (int rank = 0; rank < machine.ranks(); ++rank) {
        const Grid grid({32, 16, 16}, machine, rank, all_periodic());
        const Plan plan = routed(grid, {{&halo, doubles("u")}, {&halo, doubles("v")}}, options);
        if (rank == 0) hash = plan.hash;
        EXPECT_EQ(plan.hash, hash);
        for (const Channel& c : plan.channels)
          ends[{c.message.source, c.message.target}].emplace_back(
              c.choice.route, c.message.bytes, transfers_hash(*c.bundle), c.message.tag, c.need.slot_bytes,
              c.need.depth, c.need.chunks, c.need.in_place);
      }
      std::size_t between = 0;
      for (const auto& [devices, found] : ends) {
        const bool same = machine.device(devices.first).rank == machine.device(devices.second).rank;
        ASSERT_EQ(found.size(), same ? 1u : 2u) << devices.first << " to " << devices.second;
        EXPECT_EQ(found.front(), found.back()) << devices.first << " to " << devices.second;
        between += !same;
      }
      EXPECT_GT(between, 16u);
    }
}

TEST(PlanOf, ARankHasTheFarthestMessagesFirstAndTellsThemApart) {
  const Machine machine = planned_machine(4, 2);
  const Grid grid({32, 16, 16}, machine, 1, all_periodic());
  const Halo halo{Halo::Options{}};
  const Plan plan = routed(grid, {{&halo, doubles("u")}});
  const auto nearness = [](const Channel& c) { return c.pair.same_device ? 2 : c.pair.same_node ? 1 : 0; };
  EXPECT_TRUE(std::is_sorted(plan.channels.begin(), plan.channels.end(),
                             [&](const Channel& a, const Channel& b) { return nearness(a) < nearness(b); }));
  EXPECT_EQ(nearness(plan.channels.front()), 0);
  ASSERT_EQ(plan.messages.size(), plan.channels.size());
  std::set<std::tuple<int, int, int>> tags;
  for (std::size_t m = 0; m < plan.messages.size(); ++m) {
    const Message& message = plan.channels[plan.channel_of_message[m]].message;
    EXPECT_EQ(plan.messages[m].source, message.source);
    EXPECT_EQ(plan.messages[m].target, message.target);
    EXPECT_LT(message.tag, plan.tags());
    EXPECT_TRUE(tags.emplace(message.source_rank, message.target_rank, message.tag).second);
    EXPECT_TRUE(plan.local(message.source) || plan.local(message.target));
  }
  EXPECT_TRUE(std::is_sorted(plan.messages.begin(), plan.messages.end(), [](const auto& a, const auto& b) {
    return std::pair(a.source, a.target) < std::pair(b.source, b.target);
  }));
}

TEST(PlanOf, ARankListsThoseOfAllMessagesThatLeaveOrReachIt) {
  const Machine machine = planned_machine(4, 2);
  const Halo halo{Halo::Options{}};
  const std::vector<PlannedItem> items{{&halo, doubles("u")}};
  const auto facts = [](const MessageInfo& m) {
    return std::tuple(m.source, m.target, m.route, m.reason, m.bytes, m.transfers, m.raw_bytes);
  };
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const Grid grid({32, 16, 16}, machine, rank, all_periodic());
    std::vector<decltype(facts({}))> own, of_all;
    for (const MessageInfo& m : plan_own_messages(grid, items, {})) own.push_back(facts(m));
    for (const MessageInfo& m : plan_messages(grid, items, {}))
      if (machine.device(m.source).rank == rank || machine.device(m.target).rank == rank) of_all.push_back(facts(m));
    std::sort(of_all.begin(), of_all.end());
    EXPECT_EQ(own, of_all) << "rank " << rank;
  }
}

/// A plan for GPUs needs no GPU on this machine.
TEST(PlanOf, GpusNeedsNone) {
  const Machine machine = planned_machine(2, 1, Backend::cuda);
  const Grid grid({32, 16, 16}, machine, 0, all_periodic());
  const Halo halo{Halo::Options{}};
  ExchangeOptions options;
  options.routes = routes_from_string("kernel,direct");
  const Plan plan = routed(grid, {{&halo, doubles("u")}}, options);
  EXPECT_FALSE(plan.host_driven);
  EXPECT_TRUE(plan.capturable);
  EXPECT_FALSE(plan.channels.empty());
}

class PlanHash : public testing::TestWithParam<std::size_t> {};

TEST_P(PlanHash, DiffersWithEachOptionThatMessagesDependOn) {
  const Grid grid({16, 16, 16}, planned_machine(2, 1), 0);
  const Halo halo{Halo::Options{}};
  const auto hash_of = [&](const Asked& asked) {
    return Plan(grid, {{&halo, asked.field, {}, asked.rebinds, asked.coding}}, asked.options).hash;
  };
  Asked asked;
  asked.field = doubles("u");
  const std::uint64_t before = hash_of(asked);
  EXPECT_EQ(hash_of(asked), before);
  Asked changed = asked;
  changes()[GetParam()].make(changed);
  EXPECT_NE(hash_of(changed), before);
  asked.options.knobs.teams = 1;
  asked.options.wait_limit = 6;
  EXPECT_EQ(hash_of(asked), before) << "these may differ between ranks";
}

INSTANTIATE_TEST_SUITE_P(Options, PlanHash, testing::Range<std::size_t>(0, changes().size()),
                         [](const auto& info) { return changes()[info.param].name; });

TEST(PlanTakes, WhatRoutesHavePrepared) {
  const Grid grid({16, 16, 16}, planned_machine(2, 1), 0);
  const Halo halo{Halo::Options{}};
  ExchangeOptions options;
  options.routes = routes_from_string("kernel,direct");
  Plan plan = routed(grid, {{&halo, doubles("u")}}, options);
  EXPECT_TRUE(plan.capturable);
  const auto state = std::make_shared<FakeState>();
  state->replays = false;
  plan.take({{RouteKind::direct, state}});
  EXPECT_FALSE(plan.capturable);
  EXPECT_NE(plan.why_not_captured().find("travels by direct"), std::string::npos) << plan.why_not_captured();
  for (const Channel& c : plan.channels) EXPECT_EQ(c.captured(), c.choice.route != RouteKind::direct);
  for (const MessageInfo& m : plan.messages)
    EXPECT_EQ(m.reason.find("; as the test says") != std::string::npos, m.route == RouteKind::direct) << m.reason;
}

TEST(PlanTakes, NoMemoryThatHostsShareWhereOneCannotMapIt) {
  const Grid grid({16, 16, 16}, planned_machine(2, 2), 0, all_periodic());
  const Halo halo{Halo::Options{}};
  ExchangeOptions options;
  options.routes = routes_from_string("staged");
  Plan plan = routed(grid, {{&halo, doubles("u")}}, options);
  const auto shared = [&](bool same_process) {
    return std::count_if(plan.channels.begin(), plan.channels.end(), [&](const Channel& c) {
      return c.pair.same_process == same_process && c.need.host_bytes > 0;
    });
  };
  const auto within = shared(true);
  EXPECT_GT(shared(false), 0);
  plan.unshare_hosts();
  EXPECT_EQ(shared(false), 0);
  EXPECT_EQ(shared(true), within);
}

TEST(PlanWords, NameTheExchangeAndWhoIsLate) {
  const Grid grid({16, 16, 16}, planned_machine(2, 1), 1);
  const Halo halo{Halo::Options{}};
  const Plan plan(grid, {{&halo, doubles("u")}, {&halo, doubles("v")}}, {});
  EXPECT_EQ(plan.name(3), "exchange 3 of u, v");
  EXPECT_EQ(Plan(grid, {}, {}).name(3), "exchange 3");
  expect_error(
      [&] {
        throw plan.too_late(7, "rank 1 waited", "rank 0", 0.5, {{"device", 1}});
      },
      ErrorCode::timeout,
      {{"fields", "u, v"}, {"rank", 1}, {"sequence", 7}, {"limit", 0.5}, {"whom", "rank 0"}, {"device", 1}});
}

}  // namespace
}  // namespace slipstream

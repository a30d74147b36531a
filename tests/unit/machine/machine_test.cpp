#include <gtest/gtest.h>

#include <functional>
#include <random>

#include <slipstream/error.hpp>
#include <slipstream/machine.hpp>

#include "support/expect_error.hpp"

#include "machine/measure.hpp"
#include "machine/share.hpp"

namespace slipstream {
namespace {

struct Description {
  std::vector<MachineDevice> devices;
  std::vector<Link> links;
  Machine machine() const { return Machine("drawing board", devices, links); }
};

/// Nodes with `ranks` ranks each and `devices` devices per rank. Links are memory within a node and a network between
/// nodes.
Description description(int nodes, int ranks, int devices) {
  Description d;
  for (int rank = 0; rank < nodes * ranks; ++rank)
    for (int i = 0; i < devices; ++i)
      d.devices.push_back({rank / ranks, rank, {Backend::cuda, i}, "GPU", "", 16'000'000'000, 900});
  for (const MachineDevice& a : d.devices) {
    for (const MachineDevice& b : d.devices) {
      Link link{LinkKind::nvlink, 50, true};
      if (a.node != b.node) link = {LinkKind::network, 12.5, false};
      if (&a == &b) link = {LinkKind::same, 450, true};
      d.links.push_back(link);
    }
  }
  return d;
}

TEST(DescribedMachine, CountsNodesRanksAndDevices) {
  const Machine machine = description(2, 3, 2).machine();
  EXPECT_EQ(machine.name(), "drawing board");
  EXPECT_EQ(machine.nodes(), 2);
  EXPECT_EQ(machine.ranks(), 6);
  EXPECT_EQ(machine.devices(), 12);
  EXPECT_FALSE(machine.discovered());
  EXPECT_TRUE(machine.bindings().empty());
}

TEST(DescribedMachine, FindsDevicesByRankAndByNode) {
  const Machine machine = description(2, 2, 2).machine();
  EXPECT_EQ(machine.devices_of_rank(2), (std::vector<int>{4, 5}));
  EXPECT_EQ(machine.devices_of_node(1), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_TRUE(machine.devices_of_rank(4).empty());
}

TEST(DescribedMachine, FindsLinksByRowAndColumn) {
  Description d = description(1, 3, 1);
  d.links[0 * 3 + 2].gb_per_s = 7;
  EXPECT_EQ(d.machine().link(0, 2).gb_per_s, 7);
  EXPECT_EQ(d.machine().link(2, 0).gb_per_s, 50);
}

TEST(DescribedMachine, KnowsWhichDevicesRanksShare) {
  Description d = description(1, 4, 1);
  for (std::size_t i = 0; i < 4; ++i) d.devices[i].uuid = i < 2 ? "one" : std::to_string(i);
  const Machine machine = d.machine();
  EXPECT_TRUE(machine.any_shared());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(machine.shared(i), i < 2);
  EXPECT_EQ(machine.most_devices_of_rank(), 1);
  EXPECT_EQ(description(2, 2, 3).machine().most_devices_of_rank(), 3);
  EXPECT_FALSE(description(2, 2, 3).machine().any_shared());
}

/// Links that a machine stores by class of device pairs equal the link matrix it was made from, in any device order.
TEST(LinksByClass, AreThoseOfEachPair) {
  const auto equal = [](const Description& d) {
    const Machine machine = d.machine();
    const int n = machine.devices();
    for (int from = 0; from < n; ++from)
      for (int to = 0; to < n; ++to)
        if (!(machine.link(from, to) == d.links[static_cast<std::size_t>(from) * n + to])) return false;
    return true;
  };
  Description regular = description(12, 2, 2);
  EXPECT_TRUE(equal(regular));
  EXPECT_EQ(regular.machine().links().within.size(), 1u);
  EXPECT_EQ(regular.machine().links().between.size, 1);

  // Two kinds of network cards: the slower of two cards determines the rate.
  Description cards = regular;
  const auto rate = [](std::size_t device) { return device % 4 < 2 ? 25.0 : 12.5; };
  for (std::size_t a = 0; a < cards.devices.size(); ++a)
    for (std::size_t b = 0; b < cards.devices.size(); ++b)
      if (cards.devices[a].node != cards.devices[b].node)
        cards.links[a * cards.devices.size() + b].gb_per_s = std::min(rate(a), rate(b));
  EXPECT_TRUE(equal(cards));
  EXPECT_EQ(cards.machine().links().between.size, 2);

  Description uneven = regular;
  uneven.links[0 * 48 + 1].gb_per_s = uneven.links[1 * 48 + 0].gb_per_s = 20;
  EXPECT_TRUE(equal(uneven));
  EXPECT_EQ(uneven.machine().links().within.size(), 2u);

  // A description of links without any structure.
  Description random = description(80, 1, 1);
  std::minstd_rand numbers(7);
  for (Link& link : random.links) link.gb_per_s = 1 + static_cast<double>(numbers() % 1000);
  EXPECT_TRUE(equal(random));
}

TEST(LinksByClass, ThatDoNotFitTheDevicesAreAnError) {
  const Machine machine = description(2, 2, 1).machine();
  std::vector<MachineDevice> devices;
  for (int i = 0; i < machine.devices(); ++i) devices.push_back(machine.device(i));
  Links short_of_one = machine.links(), unknown_kind = machine.links();
  short_of_one.group.pop_back();
  unknown_kind.kind.back() = 1;
  for (const Links& links : {short_of_one, unknown_kind})
    expect_error([&] { Machine("wrong", devices, links); }, ErrorCode::invalid_argument, {{"problem", "links"}});
}

TEST(DescribedMachine, IsUniformOnlyWithEquallyManyDevicesOnEveryNode) {
  EXPECT_TRUE(description(2, 2, 1).machine().uniform());
  Description uneven = description(3, 1, 1);
  uneven.devices[1].node = 0;
  uneven.devices[2].node = 1;
  uneven.links[1] = uneven.links[3] = {LinkKind::memory, 10, true};
  EXPECT_FALSE(uneven.machine().uniform());
}

TEST(DescribedMachine, AcceptsRanksDealtToNodesInTurn) {
  Description d = description(2, 2, 1);
  d.devices[1].rank = 2;
  d.devices[2].rank = 1;
  const Machine machine = d.machine();
  EXPECT_EQ(machine.ranks(), 4);
  EXPECT_EQ(machine.devices_of_rank(1), std::vector<int>{2});
}

struct Mistake {
  std::string name;
  std::function<void(Description&)> make;
  Facts facts;
};

class DescribedMachineError : public testing::TestWithParam<Mistake> {};

TEST_P(DescribedMachineError, NamesTheMachineAndTheMistake) {
  Description d = description(2, 2, 1);
  GetParam().make(d);
  Facts facts = GetParam().facts;
  facts.emplace_back("machine", "drawing board");
  expect_error([&] { d.machine(); }, ErrorCode::invalid_argument, facts);
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, DescribedMachineError,
    testing::Values(
        Mistake{"NoDevices", [](Description& d) { d.devices.clear(); }, {{"problem", "devices"}}},
        Mistake{"NoMemory", [](Description& d) { d.devices[2].memory = 0; }, {{"problem", "memory"}, {"device", 2}}},
        Mistake{"NegativeBandwidth",
                [](Description& d) { d.devices[1].memory_gb_per_s = -1; },
                {{"problem", "memory_gb_per_s"}, {"device", 1}}},
        Mistake{"NegativeNode", [](Description& d) { d.devices[0].node = -1; }, {{"problem", "node"}, {"device", 0}}},
        Mistake{"NegativeIndex",
                [](Description& d) { d.devices[0].local.index = -1; },
                {{"problem", "index"}, {"device", 0}}},
        Mistake{"Unsorted",
                [](Description& d) { std::swap(d.devices[0], d.devices[3]); },
                {{"problem", "order"}, {"device", 1}}},
        Mistake{"RankOnTwoNodes", [](Description& d) { d.devices[2].rank = 1; }, {{"problem", "order"}, {"rank", 1}}},
        Mistake{"RankOnTwoNodesApart",
                [](Description& d) {
                  d.devices[3].rank = 0;
                  d.devices[2].rank = 0;
                },
                {{"problem", "rank"}, {"rank", 0}}},
        Mistake{"NodeLeftOut",
                [](Description& d) { d.devices[2].node = d.devices[3].node = 2; },
                {{"problem", "node"}, {"node", 1}}},
        Mistake{"RankLeftOut", [](Description& d) { d.devices[3].rank = 7; }, {{"problem", "rank"}, {"rank", 3}}},
        Mistake{"MatrixNotSquare",
                [](Description& d) { d.links.pop_back(); },
                {{"problem", "links"}, {"needed", 16}, {"given", 15}}},
        Mistake{"LinkWithoutRate",
                [](Description& d) { d.links[1].gb_per_s = 0; },
                {{"problem", "gb_per_s"}, {"device", 0}, {"peer", 1}}},
        Mistake{"DiagonalNotSame",
                [](Description& d) { d.links[5].kind = LinkKind::memory; },
                {{"problem", "kind"}, {"device", 1}, {"peer", 1}}},
        Mistake{"OneWay",
                [](Description& d) { d.links[1].kind = LinkKind::system; },
                {{"problem", "one_way"}, {"device", 0}, {"peer", 1}}},
        Mistake{"NodesWithoutNetwork",
                [](Description& d) { d.links[2].kind = d.links[8].kind = LinkKind::nvlink; },
                {{"problem", "network"}, {"device", 0}, {"peer", 2}}},
        Mistake{"NetworkOnANode",
                [](Description& d) { d.links[1].kind = d.links[4].kind = LinkKind::network; },
                {{"problem", "network"}, {"device", 0}, {"peer", 1}}},
        Mistake{"PeersBetweenNodes",
                [](Description& d) { d.links[2].peer = true; },
                {{"problem", "peer"}, {"device", 0}, {"peer", 2}}}),
    [](const auto& mistake) { return mistake.param.name; });

TEST(LinkKindNames, SurviveTheWayThroughText) {
  for (const auto kind : {LinkKind::same, LinkKind::nvlink, LinkKind::pcie_switch, LinkKind::host_bridge,
                          LinkKind::numa, LinkKind::system, LinkKind::memory, LinkKind::network})
    EXPECT_EQ(link_kind_from_string(to_string(kind)), kind);
}

TEST(LinkKindNames, AnUnknownNameIsAnError) {
  expect_error([] { link_kind_from_string("nvlin"); }, ErrorCode::invalid_argument,
               {{"option", "kind"},
                {"given", "nvlin"},
                {"choices", "same, nvlink, pcie_switch, host_bridge, numa, system, memory, network"}});
}

TEST(Discovery, OneRankWithoutALauncherFindsItself) {
  const Machine machine = Machine::discover(Communicator::world(), {});
  EXPECT_EQ(machine.ranks(), 1);
  EXPECT_EQ(machine.nodes(), 1);
  EXPECT_EQ(machine.devices(), 1);
  EXPECT_EQ(machine.link(0, 0).kind, LinkKind::same);
  ASSERT_EQ(machine.bindings().size(), 1u);
  EXPECT_FALSE(machine.bindings()[0].cores.empty());
}

TEST(Discovery, ANegativeCountIsAnError) {
  Machine::Options options;
  options.devices_per_rank = -1;
  expect_error([&] { Machine::discover(Communicator::world(), options); }, ErrorCode::invalid_argument,
               {{"option", "devices_per_rank"}, {"given", -1}});
}

TEST(Discovery, ABackendWithoutDevicesIsAnError) {
  if (available(Backend::cuda)) GTEST_SKIP() << "this machine has CUDA devices";
  Machine::Options options;
  options.backend = Backend::cuda;
  expect_error([&] { Machine::discover(Communicator::world(), options); }, ErrorCode::unavailable,
               {{"backend", "cuda"}});
}

TEST(Communicator, StartingAloneLeavesNoTraceForLaunchersStartedLater) {
  Communicator::world();
  EXPECT_EQ(std::getenv("OMPI_MCA_ess"), nullptr);
  EXPECT_EQ(std::getenv("OMPI_MCA_ess_singleton_isolated"), nullptr);
}

using Lists = std::vector<std::vector<int>>;
using detail::share_cores;
using detail::share_devices;
using detail::split_host;

TEST(ShareDevices, GivesConsecutiveRanksConsecutiveDevices) {
  EXPECT_EQ(share_devices(Lists(2, std::vector<int>(4, 0))), (Lists{{0, 1}, {2, 3}}));
}

TEST(ShareDevices, LeavesNoDeviceOutWhenTheyDoNotDivide) {
  EXPECT_EQ(share_devices(Lists(2, std::vector<int>(3, 0))), (Lists{{0}, {1, 2}}));
}

TEST(ShareDevices, LetsRanksShareWhenThereAreMoreOfThem) {
  EXPECT_EQ(share_devices(Lists(4, std::vector<int>(3, 0))), (Lists{{0}, {1}, {2}, {2}}));
}

TEST(ShareDevices, PrefersTheNearestDevice) {
  EXPECT_EQ(share_devices({{3, 3, 0, 0}, {0, 0, 3, 3}}), (Lists{{2, 3}, {0, 1}}));
}

TEST(ShareCores, SplitsCommonCoresEvenly) {
  const Lists near(3, {0, 1, 2, 3, 4, 5, 6});
  Lists shares;
  for (int rank = 0; rank < 3; ++rank) shares.push_back(share_cores(near[0], near, rank));
  EXPECT_EQ(shares, (Lists{{0, 1}, {2, 3}, {4, 5, 6}}));
}

TEST(ShareCores, KeepsRanksNearTheirOwnDevices) {
  const Lists near{{4, 5, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}};
  const std::vector<int> cores{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(share_cores(cores, near, 0), (std::vector<int>{4, 5}));
  EXPECT_EQ(share_cores(cores, near, 1), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(share_cores(cores, near, 2), (std::vector<int>{6, 7}));
}

TEST(ShareCores, SplitsAllCoresWhereNearOnesOverlap) {
  const Lists near{{0, 1, 2, 3}, {2, 3}};
  EXPECT_EQ(share_cores({0, 1, 2, 3}, near, 0), (std::vector<int>{0, 1}));
  EXPECT_EQ(share_cores({0, 1, 2, 3}, near, 1), (std::vector<int>{2, 3}));
}

TEST(ShareCores, BindsNobodyWhereARankWouldHaveNoCore) {
  const Lists near(8, {0, 1});
  for (int rank = 0; rank < 8; ++rank) EXPECT_TRUE(share_cores({0, 1}, near, rank).empty());
}

TEST(SplitHost, DealsRanksInBlocksOrInTurn) {
  EXPECT_EQ(split_host(4, 0, false), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(split_host(5, 2, false), (std::vector<int>{0, 0, 1, 1, 2}));
  EXPECT_EQ(split_host(4, 2, true), (std::vector<int>{0, 1, 0, 1}));
}

/// Rate of a link with 5 us latency and a bandwidth of `gb_per_s`.
double rate_of(std::size_t bytes, double gb_per_s) {
  return static_cast<double>(bytes) / (5e-6 + static_cast<double>(bytes) / (gb_per_s * 1e9)) / 1e9;
}

TEST(SettledRates, HaveDrownedTheTimeBeforeTheFirstByte) {
  const auto measure = [](std::size_t bytes) { return BothWays{rate_of(bytes, 396), rate_of(bytes, 55)}; };
  const BothWays first = measure(std::size_t{4} << 20);
  const BothWays found = settled_rates(std::size_t{4} << 20, std::size_t{1} << 30, measure);
  EXPECT_LT(first.there, 0.7 * 396);
  EXPECT_NEAR(found.there, 396, 0.02 * 396);
  EXPECT_NEAR(found.back, 55, 0.02 * 55);
}

TEST(SettledRates, TakeNoMoreCopiesThanTheyNeed) {
  std::vector<std::size_t> tried;
  const auto measure = [&](std::size_t bytes) {
    tried.push_back(bytes);
    return BothWays{10, 0};
  };
  settled_rates(1000, 1 << 20, measure);
  EXPECT_EQ(tried, (std::vector<std::size_t>{1000, 2000}));
}

TEST(SettledRates, StayWithinTheLargestCopy) {
  std::vector<std::size_t> tried;
  const auto measure = [&](std::size_t bytes) {
    tried.push_back(bytes);
    return BothWays{static_cast<double>(bytes), 1};
  };
  EXPECT_EQ(settled_rates(1000, 5000, measure).there, 4000);
  EXPECT_EQ(tried, (std::vector<std::size_t>{1000, 2000, 4000}));
}

TEST(SettledRates, EndWhereAMeasurementIsTheLast) {
  const auto measure = [](std::size_t bytes) { return BothWays{static_cast<double>(bytes), 1, bytes >= 2000}; };
  EXPECT_EQ(settled_rates(1000, 1 << 20, measure).there, 2000);
}

}  // namespace
}  // namespace slipstream

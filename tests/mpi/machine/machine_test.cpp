#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include <slipstream/error.hpp>
#include <slipstream/grid.hpp>
#include <slipstream/machine.hpp>

namespace slipstream {
namespace {

const Communicator& world() {
  static const Communicator comm = Communicator::world();
  return comm;
}

Machine discover(int ranks_per_node = 0, bool cyclic = false, int devices_per_rank = 0) {
  Machine::Options options;
  options.ranks_per_node = ranks_per_node;
  options.cyclic = cyclic;
  options.devices_per_rank = devices_per_rank;
  options.bind = false;
  return Machine::discover(world(), options);
}

std::vector<int> node_of_rank(const Machine& machine) {
  std::vector<int> nodes(machine.ranks());
  for (int i = 0; i < machine.devices(); ++i) nodes[machine.device(i).rank] = machine.device(i).node;
  return nodes;
}

std::string text(const Machine& machine) {
  std::ostringstream out;
  out.precision(17);
  out << machine.name() << machine.nodes() << ' ' << machine.ranks() << '\n';
  for (int i = 0; i < machine.devices(); ++i) {
    const MachineDevice& d = machine.device(i);
    out << d.node << ' ' << d.rank << ' ' << to_string(d.local) << ' ' << d.name << ' ' << d.uuid << ' ' << d.memory
        << ' ' << d.memory_gb_per_s << '\n';
    for (int j = 0; j < machine.devices(); ++j) {
      const Link& link = machine.link(i, j);
      out << to_string(link.kind) << link.gb_per_s << link.peer << ' ';
    }
  }
  for (const Binding& b : machine.bindings())
    out << b.rank << b.host << b.cores << b.numa_node << b.network_card << b.bound << '\n';
  return out.str();
}

TEST(Communicator, MaxTakesTheLargestOverRanks) {
  EXPECT_EQ(world().max(world().rank() - 10.0), world().size() - 11.0);
}

TEST(Communicator, MaxKeepsANotANumberOfAnyRank) {
  const bool last = world().rank() == world().size() - 1;
  EXPECT_TRUE(std::isnan(world().max(last ? std::numeric_limits<double>::quiet_NaN() : 1.0)));
}

TEST(Communicator, SumsAreTakenInTheOrderOfRanks) {
  const auto value = [](int rank) { return 1.0 / (rank + 3) * std::pow(10, rank % 3 * 8); };
  double expected = 0;
  for (int rank = 0; rank < world().size(); ++rank) expected += value(rank);
  EXPECT_EQ(world().sum_in_rank_order(value(world().rank())), expected);
}

TEST(Communicator, AllIsFalseWhereOneRankSaysNo) {
  EXPECT_TRUE(world().all(true));
  EXPECT_FALSE(world().all(world().rank() != world().size() - 1));
}

TEST(Communicator, BroadcastBringsTheRootsText) {
  const int root = world().size() - 1;
  EXPECT_EQ(world().broadcast("from " + std::to_string(world().rank()), root), "from " + std::to_string(root));
}

TEST(Communicator, AllGatherKeepsTextsOfDifferentLengthsByRank) {
  const auto texts = world().all_gather(std::string(world().rank() * 3 % 5, 'a' + world().rank()));
  ASSERT_EQ(static_cast<int>(texts.size()), world().size());
  for (int rank = 0; rank < world().size(); ++rank) EXPECT_EQ(texts[rank], std::string(rank * 3 % 5, 'a' + rank));
}

TEST(Communicator, AllGatherOrdersNumbersByRank) {
  const auto numbers = world().all_gather(std::int64_t{1} << (40 + world().rank()));
  for (int rank = 0; rank < world().size(); ++rank) EXPECT_EQ(numbers[rank], std::int64_t{1} << (40 + rank));
}

TEST(Communicator, WorldIsOneCommunicatorHoweverOftenAsked) { EXPECT_EQ(Communicator::world().mpi(), world().mpi()); }

TEST(Communicator, ASubCommunicatorCountsItsOwnRanks) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(world().mpi(), world().rank() % 2, world().rank(), &half);
  {
    const Communicator guest(half);
    EXPECT_EQ(guest.rank(), world().rank() / 2);
    EXPECT_EQ(guest.sum_in_rank_order(1), (world().size() + 1 - world().rank() % 2) / 2);
  }
  MPI_Comm_free(&half);
}

TEST(Communicator, ABroadcastFromARankThatIsNotThereIsAnError) {
  EXPECT_THROW(world().broadcast("x", world().size()), Error);
  EXPECT_THROW(world().broadcast("x", -1), Error);
}

TEST(Communicator, MpiReportsErrorsInsteadOfEndingTheJob) {
  int number = 0;
  EXPECT_NE(MPI_Bcast(&number, 1, MPI_INT, world().size(), world().mpi()), MPI_SUCCESS);
}

TEST(Communicator, MpiCommNullIsAnError) { EXPECT_THROW(Communicator{MPI_COMM_NULL}, Error); }

TEST(Discovery, FindsOneNodeWithAllRanksOfThisHost) {
  const Machine machine = discover();
  EXPECT_TRUE(machine.discovered());
  EXPECT_EQ(machine.nodes(), 1);
  EXPECT_EQ(machine.ranks(), world().size());
  EXPECT_EQ(machine.devices(), world().size());
}

TEST(Discovery, AllRanksFindTheSameMachine) {
  const auto texts = world().all_gather(text(discover(0, false, 2)));
  for (const std::string& other : texts) EXPECT_EQ(other, texts[0]);
}

TEST(Discovery, EveryEmulatedDeviceHasANameOfItsOwn) {
  const Machine machine = discover(0, false, 3);
  std::set<std::string> uuids;
  for (int i = 0; i < machine.devices(); ++i) uuids.insert(machine.device(i).uuid);
  EXPECT_EQ(static_cast<int>(uuids.size()), 3 * world().size());
}

TEST(Discovery, GivesEachRankTheDevicesThatItAskedFor) {
  const Machine machine = discover(0, false, 2);
  for (int rank = 0; rank < world().size(); ++rank) {
    const auto mine = machine.devices_of_rank(rank);
    ASSERT_EQ(mine.size(), 2u);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(machine.device(mine[i]).local, (Device{Backend::host, i}));
  }
  EXPECT_EQ(device_count(Backend::host), 2);
}

TEST(Discovery, SharesTheMemoryOfTheHostAmongItsDevices) {
  const Machine machine = discover(0, false, 2);
  double sum = 0;
  for (int i = 0; i < machine.devices(); ++i) sum += static_cast<double>(machine.device(i).memory);
  EXPECT_LE(sum, static_cast<double>(info(Device{}).memory_total));
}

TEST(Discovery, DevicesOfOneNodeArePeersThroughMemory) {
  const Machine machine = discover(0, false, 2);
  for (int i = 0; i < machine.devices(); ++i) {
    for (int j = 0; j < machine.devices(); ++j) {
      EXPECT_EQ(machine.link(i, j).kind, i == j ? LinkKind::same : LinkKind::memory);
      EXPECT_TRUE(machine.link(i, j).peer);
    }
  }
}

TEST(Discovery, OneRankPerNodeLeavesOnlyTheNetworkBetweenRanks) {
  const Machine machine = discover(1);
  EXPECT_EQ(machine.nodes(), world().size());
  for (int i = 0; i < machine.devices(); ++i) {
    for (int j = 0; j < machine.devices(); ++j) {
      if (i == j) continue;
      EXPECT_EQ(machine.link(i, j).kind, LinkKind::network);
      EXPECT_FALSE(machine.link(i, j).peer);
    }
  }
}

TEST(Discovery, BlockedNodesHoldConsecutiveRanks) {
  if (world().size() < 2) GTEST_SKIP() << "needs two ranks";
  const Machine machine = discover(2);
  const auto nodes = node_of_rank(machine);
  for (int rank = 0; rank < world().size(); ++rank) EXPECT_EQ(nodes[rank], rank / 2);
  EXPECT_EQ(machine.uniform(), world().size() % 2 == 0);
}

TEST(Discovery, CyclicNodesHoldRanksDealtInTurn) {
  if (world().size() < 2) GTEST_SKIP() << "needs two ranks";
  const Machine machine = discover(2, true, 2);
  const auto nodes = node_of_rank(machine);
  const int count = (world().size() + 1) / 2;
  for (int rank = 0; rank < world().size(); ++rank) EXPECT_EQ(nodes[rank], rank % count);
  for (int node = 0; node < count; ++node)
    for (const int i : machine.devices_of_node(node)) EXPECT_EQ(machine.device(i).rank % count, node);
}

TEST(Discovery, MoreRanksPerNodeThanThereAreIsAnErrorOnAllRanks) { EXPECT_THROW(discover(world().size() + 1), Error); }

TEST(Discovery, RanksThatAskForDifferentMachinesAllThrow) {
  if (world().size() < 2) GTEST_SKIP() << "needs two ranks";
  EXPECT_THROW(discover(0, false, 1 + (world().rank() == 1)), Error);
}

TEST(Discovery, BindsRanksToCoresOfTheirOwnOrNotAtAll) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Machine machine = Machine::discover(world(), {});
    std::set<std::string> cores;
    int bound = 0;
    for (const Binding& binding : machine.bindings()) {
      EXPECT_FALSE(binding.cores.empty());
      if (!binding.bound) continue;
      ++bound;
      EXPECT_TRUE(cores.insert(binding.cores).second) << "two ranks on cores " << binding.cores;
    }
    EXPECT_TRUE(bound == 0 || bound == world().size());
  }
}

TEST(Discovery, ABoundRankHasNoMoreHostThreadsThanItsShareOfTheCores) {
  if (world().size() < 2) GTEST_SKIP() << "needs two ranks";
  const int before = host_threads();
  set_host_threads(64);
  const Machine machine = Machine::discover(world(), {});
  if (machine.bindings()[world().rank()].bound) {
    EXPECT_LT(host_threads(), 64);
  } else {
    EXPECT_EQ(host_threads(), 64);
  }
  set_host_threads(before);
}

TEST(Discovery, WithoutBindingCoresStayAsTheyWere) {
  const std::string before = discover().bindings()[world().rank()].cores;
  const Binding after = discover().bindings()[world().rank()];
  EXPECT_EQ(after.cores, before);
  EXPECT_FALSE(after.bound);
}

TEST(Discovery, ASubCommunicatorSeesItsOwnRanksOnly) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(world().mpi(), world().rank() % 2, world().rank(), &half);
  {
    const Communicator guest(half);
    const Machine machine = Machine::discover(guest, {});
    EXPECT_EQ(machine.ranks(), guest.size());
    if (guest.size() < world().size()) {
      for (const Binding& binding : machine.bindings()) EXPECT_FALSE(binding.bound);
    }
  }
  MPI_Comm_free(&half);
}

MeasureOptions quick() {
  MeasureOptions options;
  options.bytes = 1 << 16;
  options.trials = 1;
  return options;
}

TEST(MeasuredRates, AreTheSameOnAllRanksAndPositive) {
  MeasureOptions growing = quick();
  growing.bytes = 1 << 10;
  growing.most_bytes = 1 << 18;
  for (const int ranks_per_node : {0, 1})
    for (const MeasureOptions& options : {quick(), growing}) {
      const Machine machine = discover(ranks_per_node, false, 2);
      const auto rates = measure_rates(world(), machine, options);
      ASSERT_EQ(static_cast<int>(rates.size()), machine.devices() * machine.devices());
      std::ostringstream text;
      text.precision(17);
      for (const double rate : rates) {
        EXPECT_GT(rate, 0);
        text << rate << ' ';
      }
      for (const std::string& other : world().all_gather(text.str())) EXPECT_EQ(other, text.str());
    }
}

TEST(MeasuredRates, OfTwoNodesAreOneFigureForAllTheirDevices) {
  if (world().size() < 2) GTEST_SKIP() << "needs two ranks";
  const Machine machine = discover(1, false, 2);
  const auto rates = measure_rates(world(), machine, quick());
  const int n = machine.devices();
  for (const int from : machine.devices_of_node(0))
    for (const int to : machine.devices_of_node(1)) {
      EXPECT_EQ(rates[from * n + to], rates[0 * n + 2]);
      EXPECT_EQ(rates[to * n + from], rates[0 * n + 2]);
    }
}

TEST(MeasuredRates, WithoutTimeAreTheLinksOwn) {
  const Machine machine = discover(0, false, 2);
  MeasureOptions options = quick();
  options.seconds = 0;
  const auto rates = measure_rates(world(), machine, options);
  for (int a = 0; a < machine.devices(); ++a)
    for (int b = 0; b < machine.devices(); ++b)
      EXPECT_EQ(rates[a * machine.devices() + b], machine.link(a, b).gb_per_s);
}

TEST(MeasuredRates, OfAMachineThatIsNotThereAreAnError) {
  MachineDevice device;
  device.memory = 1;
  const Machine machine("described", {device}, {{LinkKind::same, 10, true}});
  EXPECT_THROW(measure_rates(world(), machine, quick()), Error);
}

TEST(MeasuredRates, PlaceAGridAlikeOnAllRanks) {
  const Machine machine = discover(0, false, 2);
  GridOptions options;
  options.placement = PlacementMethod::measured;
  options.measured_gb_per_s = measure_rates(world(), machine, quick());
  const Grid grid({32, 32, 32}, machine, world().rank(), options);
  std::ostringstream text;
  for (const Block& block : grid.blocks()) text << block.device << ' ';
  for (const std::string& other : world().all_gather(text.str())) EXPECT_EQ(other, text.str());
}

}  // namespace
}  // namespace slipstream

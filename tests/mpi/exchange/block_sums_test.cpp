// Sums over blocks have the bits of the summation tree on the host, for any distribution of the blocks.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <thread>

#include <slipstream/block_sums.hpp>
#include <slipstream/buffer.hpp>
#include <slipstream/device/host/launch.hpp>
#include <slipstream/graph.hpp>

#include "device/record_graphs.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/failing_allocations.hpp"

namespace slipstream {
namespace {

double part(std::int64_t block, int sum, int round) {
  const std::uint64_t bits =
      scrambled(static_cast<std::uint64_t>(block), static_cast<std::uint64_t>(sum), static_cast<std::uint64_t>(round));
  return fraction(bits) * std::pow(10.0, static_cast<double>(bits % 7) - 3);
}

/// Sums the existing blocks from `first` on, by recursive halving.
std::optional<double> tree(const std::vector<std::int64_t>& blocks, std::int64_t first, std::int64_t size, int sum,
                           int round) {
  if (size == 1) {
    if (!std::binary_search(blocks.begin(), blocks.end(), first)) return {};
    return part(first, sum, round);
  }
  const auto left = tree(blocks, first, size / 2, sum, round),
             right = tree(blocks, first + size / 2, size / 2, sum, round);
  if (left && right) return *left + *right;
  return left ? left : right;
}

/// A distribution of blocks: the device of each block.
struct Deal {
  const char* name;
  std::int64_t (*device)(std::int64_t n, std::int64_t count, std::int64_t devices);
};
const Deal deals[] = {
    {"beside_each_other", [](std::int64_t n, std::int64_t count, std::int64_t devices) { return n * devices / count; }},
    {"in_turn", [](std::int64_t n, std::int64_t, std::int64_t devices) { return n % devices; }},
    {"all_on_the_last", [](std::int64_t, std::int64_t, std::int64_t devices) { return devices - 1; }},
};

/// The blocks of this rank's devices, with the values to be summed and the sums.
struct Dealt {
  Dealt(const Communicator& comm, const Machine& machine, const Deal& deal, std::int64_t count, int sums_at_once)
      : sums(sums_at_once) {
    // Some numbers are skipped, so that some blocks do not exist.
    for (std::int64_t n = 0; static_cast<std::int64_t>(numbers.size()) < count; ++n)
      if (count < 64 || n % 5 != 3) numbers.push_back(n);
    for (const int device : machine.devices_of_rank(comm.rank())) {
      std::vector<std::int64_t>& here = mine.emplace_back();
      for (std::int64_t n = 0; n < count; ++n)
        if (deal.device(n, count, machine.devices()) == device) here.push_back(numbers[static_cast<std::size_t>(n)]);
      const Device local = machine.device(device).local;
      streams.emplace_back(local);
      parts.emplace_back(local, std::max<std::size_t>(1, static_cast<std::size_t>(sums) * here.size()));
      results.emplace_back(local, static_cast<std::size_t>(sums));
      from.push_back(parts.back().data());
      to.push_back(results.back().data());
    }
  }

  void give(int round) {
    for (std::size_t d = 0; d < mine.size(); ++d) {
      std::vector<double> values;
      for (int s = 0; s < sums; ++s)
        for (const std::int64_t block : mine[d]) values.push_back(part(block, s, round));
      copy(streams[d], parts[d].data(), values.data(), values.size() * sizeof(double));
      streams[d].synchronize();
    }
  }

  void expect_sums_of(int round) {
    const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(numbers.back() + 1)));
    for (std::size_t d = 0; d < mine.size(); ++d) {
      std::vector<double> have(static_cast<std::size_t>(sums));
      copy(streams[d], have.data(), results[d].data(), results[d].bytes());
      streams[d].synchronize();
      for (int s = 0; s < sums; ++s)
        EXPECT_EQ(have[static_cast<std::size_t>(s)], *tree(numbers, 0, size, s, round)) << "sum " << s;
    }
  }

  int sums;
  std::vector<std::int64_t> numbers;
  std::vector<std::vector<std::int64_t>> mine;
  std::vector<Stream> streams;
  std::vector<Buffer<double>> parts, results;
  std::vector<const double*> from;
  std::vector<double*> to;
};

class BlockSumsOf : public testing::TestWithParam<std::tuple<Backend, int, std::size_t, ReduceMethod>> {};

TEST_P(BlockSumsOf, TreesHaveTheSameBitsHoweverBlocksAreDealt) {
  const auto [backend, per_rank, deal, method] = GetParam();
  if (const auto why = unavailable(backend, per_rank); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, per_rank);
  // The largest number of blocks exceeds a GPU's shared memory, if consecutive blocks share a device.
  for (const std::int64_t count : {1, 2, 7, 64, 133, 2600}) {
    if (count > 133 && deals[deal].name == std::string("in_turn")) continue;
    SCOPED_TRACE(std::to_string(count) + " blocks");
    Dealt dealt(comm, machine, deals[deal], count, 3);
    BlockSums block_sums(comm, machine, dealt.mine, dealt.sums, {method});
    for (int round = 0; round < 3; ++round) {
      dealt.give(round);
      block_sums.run(dealt.streams, dealt.from, dealt.to);
      finish(dealt.streams);
      block_sums.check();
      dealt.expect_sums_of(round);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Deals, BlockSumsOf,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 3),
                                          testing::Range<std::size_t>(0, std::size(deals)),
                                          testing::Values(ReduceMethod::automatic, ReduceMethod::mpi)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_by_" +
                                  std::to_string(std::get<1>(info.param)) + "_" + deals[std::get<2>(info.param)].name +
                                  "_" + to_string(std::get<3>(info.param));
                         });

class BlockSumsOn : public testing::TestWithParam<std::tuple<Backend, int>> {
 protected:
  Backend backend = std::get<0>(GetParam());
  int per_rank = std::get<1>(GetParam());
  Communicator comm = Communicator::world();

  void SetUp() override {
    if (const auto why = unavailable(backend, per_rank); !why.empty()) GTEST_SKIP() << why;
    const Machine machine = machine_here(backend, per_rank);
    if (AllReduce(comm, machine, 1, DType::f64, Op::add).method() != ReduceMethod::peer)
      GTEST_SKIP() << "not all devices are peers";
  }

  /// A graph of three runs a device is replayed among runs that are not recorded, and so from both halves of the
  /// receive buffers.
  void expect_launches(std::int64_t count, std::size_t launches) {
    constexpr std::size_t runs = 3;
    const Machine machine = machine_here(backend, per_rank);
    Dealt dealt(comm, machine, deals[0], count, 3);
    BlockSums sums(comm, machine, dealt.mine, dealt.sums);
    const auto run = [&] { sums.run(dealt.streams, dealt.from, dealt.to); };
    const std::vector<Graph> graphs = record_graphs(dealt.streams, [&] {
      for (std::size_t n = 0; n < runs; ++n) run();
    });
    for (const Graph& graph : graphs) EXPECT_EQ(graph.nodes(), runs * launches) << count << " blocks";
    for (int round = 0; round < 5; ++round) {
      dealt.give(round);
      if (round == 2) {
        run();
      } else {
        for (std::size_t d = 0; d < graphs.size(); ++d) graphs[d].launch(dealt.streams[d]);
      }
      finish(dealt.streams);
      sums.check();
      dealt.expect_sums_of(round);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, BlockSumsOn,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param)) +
                                  "_devices_a_rank";
                         });

TEST_P(BlockSumsOn, PeersAreOneLaunchADevice) { expect_launches(133, 1); }

TEST_P(BlockSumsOn, PeersAreThreeLaunchesWhereSharedMemoryIsTooSmall) {
  const int devices = machine_here(backend, per_rank).devices();
  expect_launches(std::int64_t{2600} * devices, devices == 1 ? 1 : 3);
}

TEST_P(BlockSumsOn, NamesWhoWaitedForARankThatDoesNotCome) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Machine machine = machine_here(backend, per_rank);
  Dealt dealt(comm, machine, deals[0], 133, 3);
  BlockSums sums(comm, machine, dealt.mine, dealt.sums, {ReduceMethod::peer, 1});
  const auto run = [&] {
    sums.run(dealt.streams, dealt.from, dealt.to);
    finish(dealt.streams);
    sums.check();
  };
  dealt.give(0);
  for (int n = 0; n < 3; ++n) run();
  const int absent = comm.size() - 1;
  comm.barrier();
  if (comm.rank() != absent) {
    dealt.give(1);
    const auto error = error_of(run);
    expect_error(error, ErrorCode::timeout, {{"rank", comm.rank()}, {"sequence", 4}, {"limit", 1}});
    EXPECT_TRUE(error->fact("whom").ends_with(" on rank " + std::to_string(absent))) << error->fact("whom");
    dealt.expect_sums_of(0);
    EXPECT_THROW(run(), Timeout);
  }
  comm.barrier();
}

/// The first run is late on one device; the second run must not overwrite the first one's values.
TEST(BlockSumsOnStreams, FollowTheirLastRunOnOthers) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 2);
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  std::vector<std::vector<std::int64_t>> blocks;
  for (const int device : devices) blocks.push_back({device});
  BlockSums sums(comm, machine, blocks);
  struct Run {
    std::vector<Stream> streams;
    std::vector<Buffer<double>> parts, results;
    std::vector<const double*> from;
    std::vector<double*> to;
  };
  std::array<Run, 2> runs;
  for (Run& run : runs)
    for (const int device : devices) {
      run.streams.emplace_back(machine.device(device).local);
      run.parts.emplace_back(run.streams.back().device(), 1);
      run.results.emplace_back(run.streams.back().device(), 1);
      run.from.push_back(run.parts.back().data());
      run.to.push_back(run.results.back().data());
    }
  for (int round = 0; round < 5; ++round) {
    for (std::size_t n = 0; n < runs.size(); ++n)
      for (Buffer<double>& part : runs[n].parts) part.data()[0] = 10.0 * round + static_cast<double>(n);
    if (comm.rank() == 0)
      detail::submit(runs[0].streams[0].impl(), [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    for (Run& run : runs) sums.run(run.streams, run.from, run.to);
    for (std::size_t n = 0; n < runs.size(); ++n) {
      finish(runs[n].streams);
      for (const Buffer<double>& result : runs[n].results)
        EXPECT_EQ(result.data()[0], machine.devices() * (10.0 * round + static_cast<double>(n)));
    }
    sums.check();
  }
}

TEST(BlockSumsRefused, WhereBlocksLieTwiceOrTooMixed) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 2);
  const auto twice = error_of([&] { BlockSums(comm, machine, {{0, 1}, {1, 2}}); });
  expect_error(twice, ErrorCode::mismatch, {});
  EXPECT_NE(twice->fact("device"), twice->fact("peer"));
  expect_error([&] { BlockSums(comm, machine, {{3, 1}, {}}); }, ErrorCode::invalid_argument, {{"option", "blocks"}});
  expect_error([&] { BlockSums(comm, machine, {{}}); }, ErrorCode::mismatch, {{"given", 1}, {"needed", 2}});
  std::vector<std::vector<std::int64_t>> mixed(2);
  const std::int64_t first = 4096 * comm.rank();
  for (std::int64_t n = 0; n < 2048; ++n) mixed[static_cast<std::size_t>(n % 2)].push_back(first + n);
  expect_error([&] { BlockSums(comm, machine, mixed); }, ErrorCode::unsupported, {{"limit", AllReduce::most_values}});
}

TEST(BlockSumsRefused, WhereAnAllocationFailsOnOneRank) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Machine machine = machine_here(Backend::host, 2);
  const std::int64_t first = 4 * comm.rank();
  EXPECT_GT(each_allocation_fails(
                comm,
                [&] {
                  BlockSums(comm, machine, {{first, first + 1}, {first + 2, first + 3}}, 2);
                },
                [] {}),
            4);
}

}  // namespace
}  // namespace slipstream

#include "device/residency.hpp"

#include <gtest/gtest.h>

namespace slipstream {
namespace {

using Waiting = ResidentBlocks::Waiting;

TEST(ResidentBlocks, GrantsAllThatIsWantedWhereNothingElseWaits) {
  const ResidentBlocks gpu(100);
  EXPECT_EQ(gpu.grant(200, 2, {}), 200);
  EXPECT_EQ(gpu.grant(1, 1, {}), 1);
}

TEST(ResidentBlocks, LeavesRoomForMoreWhereSomeWait) {
  const ResidentBlocks gpu(100);
  EXPECT_EQ(gpu.grant(50, 2, {{1, 50, 2}}), 50);
  EXPECT_EQ(gpu.grant(200, 2, {{1, 100, 2}}), 50) << "half of what is left";
  EXPECT_EQ(gpu.grant(50, 2, {{1, 150, 2}, {2, 49, 2}}), 1) << "the last place";
}

TEST(ResidentBlocks, GrantsNothingWhereAllPlacesAreTaken) {
  const ResidentBlocks gpu(100);
  EXPECT_EQ(gpu.grant(50, 2, {{1, 200, 2}}), 0);
  EXPECT_EQ(gpu.grant(50, 1, {{1, 100, 2}}), 0) << "one small block on each multiprocessor keeps a large one out";
}

TEST(ResidentBlocks, CountsABlockThatFillsAMultiprocessorAsAllThatItKeepsOut) {
  const ResidentBlocks gpu(100);
  EXPECT_EQ(gpu.grant(200, 2, {{1, 50, 1}}), 50) << "100 places of 200 are left";
  EXPECT_EQ(gpu.grant(200, 4, {{1, 50, 1}}), 100) << "200 of 400";
}

/// Each of seven concurrent exchanges gets a thread block: a launch takes at most half of the places free on a GPU.
TEST(ResidentBlocks, SevenExchangesFindPlacesBesideEachOther) {
  const ResidentBlocks gpu(132);
  std::vector<Waiting> others;
  for (std::uint64_t stream = 1; stream <= 7; ++stream) {
    const int blocks = gpu.grant(66, 2, others);
    ASSERT_GE(blocks, 1) << stream;
    others.push_back({stream, blocks, 2});
  }
}

}  // namespace
}  // namespace slipstream

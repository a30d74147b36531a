#include <gtest/gtest.h>

#include <random>

#include <slipstream/box.hpp>

namespace slipstream {
namespace {

TEST(SplitBoundary, CoversEveryCellExactlyOnce) {
  std::minstd_rand random(3);
  for (int round = 0; round < 200; ++round) {
    Box box;
    Margins margins;
    for (int a = 0; a < 3; ++a) {
      box.lo[a] = static_cast<std::int64_t>(random() % 5) - 2;
      box.hi[a] = box.lo[a] + 1 + random() % 6;
      margins.low[a] = random() % 4;
      margins.high[a] = random() % 4;
    }
    const auto split = split_boundary(box, margins);
    std::vector<Box> parts = split.boundary;
    parts.push_back(split.interior);
    for (std::int64_t z = box.lo[2]; z < box.hi[2]; ++z)
      for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y)
        for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x) {
          int covered = 0;
          for (const Box& part : parts) covered += part.contains({x, y, z});
          ASSERT_EQ(covered, 1) << "cell " << x << ' ' << y << ' ' << z;
        }
    std::int64_t cells = 0;
    for (const Box& part : parts) cells += part.volume();
    ASSERT_EQ(cells, box.volume());
  }
}

TEST(SplitBoundary, InteriorKeepsItsDistanceFromMarginsOnly) {
  const auto split = split_boundary({{0, 0, 0}, {10, 10, 10}}, {{1, 0, 2}, {0, 3, 0}});
  EXPECT_EQ(split.interior, (Box{{1, 0, 2}, {10, 7, 10}}));
}

TEST(Box, IntersectionOfDisjointBoxesIsEmpty) {
  EXPECT_TRUE(intersection({{0, 0, 0}, {2, 2, 2}}, {{2, 0, 0}, {4, 2, 2}}).empty());
  EXPECT_EQ(intersection({{0, 0, 0}, {3, 3, 3}}, {{1, -1, 2}, {9, 2, 9}}), (Box{{1, 0, 2}, {3, 2, 3}}));
}

}  // namespace
}  // namespace slipstream

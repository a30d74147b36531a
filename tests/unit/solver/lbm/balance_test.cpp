#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "grid/balance.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
namespace {

/// Boxes of 4^3 cells in a cube of n^3 boxes, x fastest.
std::vector<Box> cubes(std::int64_t n) {
  std::vector<Box> all;
  for (std::int64_t z = 0; z < n; ++z)
    for (std::int64_t y = 0; y < n; ++y)
      for (std::int64_t x = 0; x < n; ++x)
        all.push_back({{4 * x, 4 * y, 4 * z}, {4 * (x + 1), 4 * (y + 1), 4 * (z + 1)}});
  return all;
}

std::vector<double> loads(const std::vector<int>& owners, const std::vector<double>& weights, int parts) {
  std::vector<double> sums(parts, 0);
  for (std::size_t n = 0; n < owners.size(); ++n) sums.at(owners[n]) += weights[n];
  return sums;
}

TEST(ShareOut, GivesEqualBoxesInEqualNumbersToNeighbours) {
  const auto boxes = cubes(4);
  const auto owners = share_out(boxes, std::vector<double>(64, 1), 4);
  for (const double load : loads(owners, std::vector<double>(64, 1), 4)) EXPECT_EQ(load, 16);
  // The longest axis is cut first, among equal ones the slowest: halves in z, then quarters in y.
  for (std::size_t n = 0; n < boxes.size(); ++n)
    EXPECT_EQ(owners[n], 2 * (boxes[n].lo[2] / 8) + boxes[n].lo[1] / 8) << n;
}

TEST(ShareOut, BalancesWeightsThatDifferAlongTheDomain) {
  const auto boxes = cubes(6);
  std::vector<double> weights;
  for (const Box& box : boxes) weights.push_back(static_cast<double>(1 + box.lo[0] * box.lo[2]));
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (const int parts : {2, 3, 4, 7}) {
    const auto shares = loads(share_out(boxes, weights, parts), weights, parts);
    EXPECT_LT(*std::max_element(shares.begin(), shares.end()), 1.1 * all / parts) << parts;
  }
}

TEST(ShareOut, LeavesNoDeviceWithoutABox) {
  const auto boxes = cubes(2);
  std::vector<double> weights(8, 0);
  weights[0] = 1;
  const auto owners = share_out(boxes, weights, 8);
  auto sorted = owners;
  std::sort(sorted.begin(), sorted.end());
  for (int n = 0; n < 8; ++n) EXPECT_EQ(sorted[n], n);
  expect_error([&] { share_out(boxes, weights, 9); }, ErrorCode::unsupported, {{"boxes", 8}, {"devices", 9}});
}

}  // namespace
}  // namespace slipstream

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <slipstream/buffer.hpp>

#include "solver/dns/kernels.hpp"

namespace slipstream::dns {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// The speeds of two lines of four cells, of which each component is `u` in cell `at` and 1 elsewhere.
template <class T>
std::vector<double> speeds_with(T u, std::size_t at) {
  const Device device{Backend::host, 0};
  Stream stream(device);
  const Buffer<T> velocity(device, 24);
  const Buffer<double> speeds(device, 2);
  std::fill(velocity.span().begin(), velocity.span().end(), T(1));
  for (std::size_t c = 0; c < 3; ++c) velocity.span()[8 * c + at] = u;
  queue_line_speeds<T>(stream, {4, 2, 1}, {velocity.data(), 8}, {1, 2, 3}, speeds.data());
  stream.synchronize();
  return {speeds.span()[0], speeds.span()[1]};
}

TEST(LineSpeeds, AreTheLargestOfTheirCells) {
  EXPECT_EQ(speeds_with<double>(-2, 3), (std::vector<double>{12, 6}));
  EXPECT_EQ(speeds_with<float>(3, 4), (std::vector<double>{6, 18}));
}

TEST(LineSpeeds, ANanThatOtherCellsFollowIsKept) {
  for (const std::size_t at : {0, 1, 3}) {
    SCOPED_TRACE(at);
    const std::vector<double> found = speeds_with<double>(no_number, at);
    EXPECT_TRUE(std::isnan(found[0]) && found[1] == 6);
    EXPECT_TRUE(std::isnan(speeds_with<float>(std::numeric_limits<float>::quiet_NaN(), at)[0]));
  }
}

TEST(LineSpeeds, ANanThatOtherLinesFollowIsKept) {
  EXPECT_EQ(fastest({{1, 3}, {}, {2}}), 3);
  EXPECT_TRUE(std::isnan(fastest({{no_number, 1}, {2}})));
  EXPECT_TRUE(std::isnan(fastest({{1}, {2, no_number}})));
}

}  // namespace
}  // namespace slipstream::dns

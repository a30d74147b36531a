// Time limits of waits, in nanoseconds.
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "machine/timeout.hpp"

namespace slipstream {
namespace {

TEST(WaitLimit, IsCountedInNanoseconds) {
  constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  const std::pair<double, std::uint64_t> rows[]{{1e-30, 1},
                                                {2e-9, 2},
                                                {0.5, 500000000},
                                                {1e9, 1000000000000000000},
                                                {std::numeric_limits<double>::infinity(), never}};
  for (const auto& [seconds, ns] : rows) EXPECT_EQ(wait_limit_ns(seconds, "a test"), ns) << seconds;
}

}  // namespace
}  // namespace slipstream

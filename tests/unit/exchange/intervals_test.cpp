// Overlap queries on address ranges, compared with brute force.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "exchange/intervals.hpp"

namespace slipstream {
namespace {

TEST(Intervals, FindAllThatMeetARangeAndNoOther) {
  std::mt19937 random(3);
  std::vector<std::byte> memory(60);
  const auto range = [&] {
    const std::size_t first = random() % 50;
    return Bytes{memory.data() + first, memory.data() + first + random() % 10};
  };
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::pair<Bytes, int>> all;
    for (auto count = random() % 20; count > 0; --count) all.emplace_back(range(), static_cast<int>(count));
    const Intervals<int> intervals(all);
    const Bytes asked = range();
    std::multiset<int> expected, found;
    for (const auto& [bytes, value] : all)
      if (bytes.meet(asked)) expected.insert(value);
    EXPECT_FALSE(intervals.any_meeting(asked, [&](int value) { return found.insert(value), false; }));
    EXPECT_EQ(found, expected);
    EXPECT_EQ(intervals.any_meeting(asked, [](int) { return true; }), !expected.empty());
  }
}

}  // namespace
}  // namespace slipstream

// Parallel loops and sort of set-up, below and above the size at which threads are used.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "device/in_parallel.hpp"

namespace slipstream {
namespace {

struct Pair {
  std::int64_t key;
  std::uint32_t place;
};

TEST(RadixSort, KeepsTheOrderOfEqualKeys) {
  std::mt19937_64 random(1);
  for (const std::size_t count : {0, 1, 2, 1000, 300000})
    for (const std::uint64_t most : {std::uint64_t{1}, std::uint64_t{5000}, ~std::uint64_t{0} >> 1}) {
      std::vector<Pair> values(count);
      for (std::size_t n = 0; n < count; ++n)
        values[n] = {static_cast<std::int64_t>(random() % most), static_cast<std::uint32_t>(n)};
      std::vector<Pair> right = values;
      std::stable_sort(right.begin(), right.end(), [](const Pair& a, const Pair& b) { return a.key < b.key; });
      radix_sort(values, [](const Pair& pair) { return pair.key; });
      for (std::size_t n = 0; n < count; ++n) {
        ASSERT_EQ(values[n].key, right[n].key) << n << " of " << count;
        ASSERT_EQ(values[n].place, right[n].place) << n << " of " << count;
      }
    }
}

TEST(InParallel, DoesEachOnce) {
  for (const std::size_t count : {0, 1, 7, 100000}) {
    std::vector<int> done(count, 0);
    in_parallel(5, count, [&](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t n = first; n < last; ++n) ++done[n];
    });
    EXPECT_EQ(std::count(done.begin(), done.end(), 1), static_cast<std::ptrdiff_t>(count));
  }
}

TEST(InParallel, KeepsWhatItFindsInOrder) {
  for (const std::size_t count : {0, 1, 1000, 300000}) {
    const auto found = found_in_parallel<std::size_t>(count, [](std::size_t first, std::size_t last, const auto& add) {
      for (std::size_t n = first; n < last; ++n)
        for (std::size_t m = 0; m < n % 3; ++m) add(n);
    });
    std::vector<std::size_t> right;
    for (std::size_t n = 0; n < count; ++n) right.insert(right.end(), n % 3, n);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), right.begin(), right.end())) << count;
  }
}

TEST(InParallel, ThrowsWhatTheFirstPartThrewOnceAllHaveEnded) {
  std::vector<int> done(100, 0);
  try {
    in_parallel(4, done.size(), [&](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t n = first; n < last; ++n) {
        if (n == 40 || n == 90) throw n;
        done[n] = 1;
      }
    });
    FAIL() << "nothing was thrown";
  } catch (const std::size_t n) {
    EXPECT_EQ(n, 40u);
  }
  EXPECT_EQ(std::accumulate(done.begin(), done.end(), 0), 100 - 10 - 10);
}

}  // namespace
}  // namespace slipstream

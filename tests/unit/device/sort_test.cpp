// Sorts and prefix sums on a device, below and above the size at which the host uses threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "device/sort/sort.hpp"
#include "device/upload.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
namespace {

class SortOf : public testing::TestWithParam<Backend> {
 protected:
  template <class T>
  std::vector<T> back(const Buffer<T>& values) {
    std::vector<T> found(values.size());
    download(stream, values.data(), values.size(), found.data());
    return found;
  }
  Stream stream{Device{GetParam(), 0}};
};

INSTANTIATE_TEST_SUITE_P(Backends, SortOf, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(SortOf, KeepsTheOrderOfEqualKeys) {
  std::mt19937_64 random(3);
  for (const std::size_t count : {0, 1, 2, 1000, 300000})
    for (const std::uint64_t most : {std::uint64_t{1}, std::uint64_t{5000}, ~std::uint64_t{0}}) {
      std::vector<std::uint64_t> keys(count);
      std::vector<std::uint32_t> values(count), right(count);
      for (std::uint64_t& key : keys) key = random() % most;
      std::iota(values.begin(), values.end(), 0u);
      std::iota(right.begin(), right.end(), 0u);
      std::stable_sort(right.begin(), right.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
      KeyedValues pairs{upload(stream, keys), upload(stream, values)};
      sort_by_key(stream, pairs);
      EXPECT_TRUE(back(pairs.values) == right) << count << " up to " << most;
      const std::vector<std::uint64_t> sorted = back(pairs.keys);
      for (std::size_t n = 0; n < count; ++n) ASSERT_EQ(sorted[n], keys[right[n]]) << n;
    }
}

TEST_P(SortOf, SumsWhatIsBefore) {
  for (const std::size_t count : {0, 1, 7, 100000}) {
    std::vector<std::uint32_t> numbers(count + 1), right(count + 1, 0);
    for (std::size_t n = 0; n <= count; ++n) numbers[n] = static_cast<std::uint32_t>(n * 7 % 11);
    for (std::size_t n = 0; n < count; ++n) right[n + 1] = right[n] + numbers[n];
    Buffer<std::uint32_t> there = upload(stream, numbers);
    sum_before(stream, there);
    EXPECT_TRUE(back(there) == right) << count;
  }
}

}  // namespace
}  // namespace slipstream

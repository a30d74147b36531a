#include <gtest/gtest.h>

#include "solver/common/part_sums.hpp"

namespace slipstream {
namespace {

/// Writes 100 times the part's index plus a running number to each double of a partial sum, as kernels do.
void number(std::size_t part, std::span<double> places) {
  for (std::size_t n = 0; n < places.size(); ++n)
    places[n] = 100.0 * static_cast<double>(part) + static_cast<double>(n);
}

TEST(PartSums, AreThoseOfEachPartWhateverDeviceItLiesOn) {
  std::vector<Stream> streams;
  for (int device = 0; device < 3; ++device) streams.emplace_back(Device{Backend::host, device});
  PartSums sums;
  // Adds partial sums to devices, removes some, and removes all partial sums of a device.
  for (const std::vector<PartSums::Part>& parts :
       {std::vector<PartSums::Part>{{1, 2}, {0, 3}, {1, 5}}, {{1, 1}, {0, 40}}, {{2, 4}, {2, 0}}, {}}) {
    const auto all = sums.of(streams, parts, [&](std::size_t i, Together& together, double* place) {
      EXPECT_EQ(together.device().index, static_cast<int>(parts[i].device));
      number(i, {place, parts[i].count});
    });
    ASSERT_EQ(all.size(), parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      ASSERT_EQ(all[i].size(), parts[i].count);
      for (std::size_t n = 0; n < parts[i].count; ++n)
        EXPECT_EQ(all[i][n], 100.0 * static_cast<double>(i) + static_cast<double>(n));
    }
  }
}

}  // namespace
}  // namespace slipstream

// Functions of routes that need only the host.
#include <gtest/gtest.h>

#include <algorithm>

#include "route/nvshmem.hpp"

namespace slipstream {
namespace {

/// Bytes [from, to) of a message on one device.
struct Range {
  int device;
  std::size_t from, to;
};

std::vector<Range> ranges_of(const SymmetricLayout& layout) {
  std::vector<Range> ranges;
  for (const auto& [devices, place] : layout.places) {
    const auto [source, target] = devices;
    ranges.push_back({target, place.full, place.full + sizeof(Signal)});
    ranges.push_back({source, place.free, place.free + sizeof(Signal)});
    ranges.push_back({target, place.slot, place.slot + place.bytes});
    ranges.push_back({source, place.outgoing, place.outgoing + place.bytes});
  }
  return ranges;
}

const std::vector<RouteSetup::Letter> letters{{0, 0, 100}, {0, 1, 5000}, {1, 0, 5000}, {1, 2, 1}, {2, 0, 70000}};

TEST(SymmetricLayout, GivesNoTwoPlacesOfADeviceTheSameBytes) {
  auto ranges = ranges_of(symmetric_layout(letters));
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return std::pair(a.device, a.from) < std::pair(b.device, b.from); });
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].device == ranges[i - 1].device) {
      EXPECT_LE(ranges[i - 1].to, ranges[i].from) << "on device " << ranges[i].device;
    }
}

TEST(SymmetricLayout, HoldsEveryPlaceAndKeepsCountersInFront) {
  const SymmetricLayout layout = symmetric_layout(letters);
  for (const Range& range : ranges_of(layout)) EXPECT_LE(range.to, layout.bytes);
  for (const auto& [devices, place] : layout.places) {
    EXPECT_LT(std::max(place.full, place.free), layout.counter_bytes);
    EXPECT_GE(std::min(place.slot, place.outgoing), layout.counter_bytes);
  }
}

TEST(SymmetricLayout, HasRoomForEachMessage) {
  const SymmetricLayout layout = symmetric_layout(letters);
  ASSERT_EQ(layout.places.size(), letters.size());
  for (const auto& letter : letters) EXPECT_GE(layout.places.at({letter.source, letter.target}).bytes, letter.bytes);
}

}  // namespace
}  // namespace slipstream

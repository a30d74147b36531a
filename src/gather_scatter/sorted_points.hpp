#pragma once
// The points of a device in the order of their ids, in its memory.
#include <cstdint>
#include <utility>
#include <vector>

#include <slipstream/device.hpp>
#include <slipstream/gather_scatter.hpp>
#include <slipstream/stream.hpp>

#include "device/sort/sort.hpp"
#include "gather_scatter/device_rows.hpp"
#include "gather_scatter/holders.hpp"

namespace slipstream {

/// From the least to the greatest id.
struct Range {
  std::int64_t low = 0, high = -1;
};

class SortedPoints {
 public:
  /// Of one device: the points that have an id. Throws Error where they are bad.
  SortedPoints(Device device, const SharedPoints& points);

  /// Of all ids; the empty one where there is none.
  Range range();
  /// Those whose ids are in one of the ranges, on the host.
  Points in(const std::vector<Range>& ranges);
  /// All of them, on the host.
  Points all();
  /// The copies of each id, two or more, that is not among these ascending ones: in the order of the first copies, so
  /// that neighbouring rows have neighbouring values. For set-up, as all of these: waits for the device.
  DeviceRows<std::uint32_t> copies_but(const std::vector<std::int64_t>& ids);
  Stream& stream() { return stream_; }

 private:
  std::size_t size() const { return sorted_.keys.size(); }
  void add(std::size_t first, std::size_t count, Points& to);

  Stream stream_;
  KeyedValues sorted_;
};

}  // namespace slipstream

#pragma once
// Points of a device, sorted by id in device memory.
#include <cstdint>
#include <utility>
#include <vector>

#include <slipstream/device.hpp>
#include <slipstream/gather_scatter.hpp>
#include <slipstream/stream.hpp>

#include "device/sort/sort.hpp"
#include "gather_scatter/holders.hpp"
#include "gather_scatter/lists.hpp"

namespace slipstream {

/// Range from the smallest id to the largest.
struct Range {
  std::int64_t low = 0, high = -1;
};

class SortedPoints {
 public:
  /// Sorts a device's points by id, without those of id 0, which are not shared. Throws Error if ids are invalid.
  SortedPoints(Device device, const SharedPoints& points);

  /// Range of all ids of the device; empty if there are none.
  Range range();
  /// Points whose global ids lie in one of the given ranges of ids, copied to the host.
  Points in(const std::vector<Range>& ranges);
  /// All points of the device, copied to the host.
  Points all();
  /// Copies of each id that has two or more of them and is not in `ids` (ascending). Rows are ordered by their first
  /// copies, so that neighbouring rows have neighbouring values. All these functions belong to set-up and block until
  /// the device has finished.
  DeviceRows<std::uint32_t> copies_but(const std::vector<std::int64_t>& ids);
  Stream& stream() { return stream_; }

 private:
  std::size_t size() const { return sorted_.keys.size(); }
  void add(std::size_t first, std::size_t count, Points& to);

  Stream stream_;
  KeyedValues sorted_;
};

}  // namespace slipstream

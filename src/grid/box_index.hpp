#pragma once
// Index for overlap queries over many boxes, without a scan of all of them.
#include <array>
#include <cstdint>
#include <vector>

#include <slipstream/box.hpp>

namespace slipstream::detail {

/// Bins of cells for finding boxes. They begin where boxes begin. In a regular partition a bin holds about one box.
class BoxIndex {
 public:
  explicit BoxIndex(std::vector<Box> boxes);
  /// Indices of the boxes that share a cell with `box`, ascending.
  std::vector<std::int64_t> overlapping(const Box& box) const;

 private:
  /// Bins [first, last) of each axis that the box touches.
  struct Range {
    Extent first{}, last{};
  };
  Range range(const Box& box) const;
  std::int64_t bin(std::int64_t x, std::int64_t y, std::int64_t z) const;
  template <class F>
  void for_each_bin(const Range& range, F f) const;

  std::vector<Box> boxes_;
  std::array<std::vector<std::int64_t>, 3> starts_;  ///< first coordinates of bins by axis; outer bins are unbounded
  std::vector<std::int64_t> first_, held_;           ///< box indices by bin b: held_[first_[b]] to held_[first_[b + 1]]
};

}  // namespace slipstream::detail

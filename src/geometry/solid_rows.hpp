#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <slipstream/box.hpp>

#include "geometry/surfaces.hpp"

namespace slipstream {

/// Cells [lo, hi) of a row along x that are inside one body.
struct SolidSpan {
  std::int32_t lo, hi;
  std::int32_t body;
};

/// Cells of a box whose centres are within a segment along x; empty if lo >= hi.
SolidSpan span_of(const Inside& piece, const Box& cells);

/// The solid cells of a box as spans per row. Memory scales with the surface, not with the volume.
class SolidRows {
 public:
  /// Finds solid cells between the crossings of the bodies' surfaces with lines along x, which `along_x` looks up.
  SolidRows(const LineIndex& along_x, const Box& cells);

  const Box& box() const { return box_; }
  /// Spans of solid cells in a row, ascending and disjoint; y and z must be in the box.
  std::span<const SolidSpan> row(std::int64_t y, std::int64_t z) const;
  /// Whether a cell is solid; `cell` must be in the box.
  bool solid(const Extent& cell) const;
  std::int64_t cells() const;

 private:
  std::int64_t row_number(std::int64_t y, std::int64_t z) const {
    return (z - box_.lo[2]) * box_.extent(1) + y - box_.lo[1];
  }
  Box box_;
  std::vector<std::int64_t> first_;  ///< index of each row's first span; the last entry is the number of spans
  std::vector<SolidSpan> spans_;
};

}  // namespace slipstream

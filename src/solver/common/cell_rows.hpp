#pragma once
// Rows of a box of cells, for kernels with a thread block per row and for readers of their results.
#include <slipstream/box.hpp>
#include <slipstream/device/function.hpp>
#include <slipstream/field.hpp>

namespace slipstream {

/// Rows of cells along x or z. Their numbers count along y first, then along the third axis.
struct CellRows {
  struct Cell {
    std::int32_t x = 0, y = 0, z = 0;
  };

  std::int32_t lo[3], length, high, deep;
  bool along_z;

  CellRows(const Box& box, int axis)
      : lo{static_cast<std::int32_t>(box.lo[0]), static_cast<std::int32_t>(box.lo[1]),
           static_cast<std::int32_t>(box.lo[2])},
        length(static_cast<std::int32_t>(box.extent(axis))),
        high(static_cast<std::int32_t>(box.extent(1))),
        deep(static_cast<std::int32_t>(box.extent(2 - axis))),
        along_z(axis == 2) {}

  std::int64_t count() const { return std::int64_t{high} * deep; }
  /// Coordinates of cell n of row number `row`.
  SLIP_FN Cell cell(std::int64_t row, std::int32_t n) const {
    const auto j = static_cast<std::int32_t>(row % high), last = static_cast<std::int32_t>(row / high);
    return {lo[0] + (along_z ? last : n), lo[1] + j, lo[2] + (along_z ? n : last)};
  }
};

/// Rows of a whole block, in local coordinates.
inline CellRows rows_of(const BlockShape& shape) { return {{{0, 0, 0}, shape.extent}, shape.row_axis}; }

}  // namespace slipstream

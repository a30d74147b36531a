#pragma once
// The devices' part of a guard.
#include <slipstream/guard.hpp>

namespace slipstream {

/// A row of cells without fault has no first cell.
struct RowFinding {
  std::int32_t x = -1;
  double value = 0;
};

/// Of all rows of a device: the first with a fault, or -1.
struct DeviceFinding {
  std::int64_t row = -1;
  RowFinding found;
};

/// What one launch looks at: a quantity in one block.
struct Inspected {
  const std::byte* origin = nullptr;  ///< interior cell (0, 0, 0), component 0
  BlockShape shape;
  DType type = DType::f32;
  int components = 1;
  bool sum = false;
  double offset = 0, lowest = 0, highest = 0;

  std::int64_t rows() const { return shape.extent[1] * shape.extent[2]; }
};

/// rows[y + extent_y z] = the first fault in a row.
void inspect_rows(Stream& stream, const Inspected& what, RowFinding* rows);
/// The first of `count` rows with a fault, into memory that the host can read.
void first_of_rows(Stream& stream, const RowFinding* rows, std::int64_t count, DeviceFinding* first);

}  // namespace slipstream

#pragma once
// Kernels of a guard, which searches fields for values that are not finite or out of range.
#include <span>

#include <slipstream/guard.hpp>

namespace slipstream {

/// The first row of cells with an invalid value on a device; -1: there is none.
struct DeviceFinding {
  std::int64_t row = -1;
  RowFinding found;
};

/// Searches all components of a field's blocks on the stream's device for values outside of `lowest` to `highest`.
void inspect_rows(Stream& stream, const Field& field, std::span<const InspectedBlock> blocks, double lowest,
                  double highest);
/// Finds the first of `count` rows of grid cells that has an invalid value; stores it in memory the host can read.
void first_of_rows(Stream& stream, const RowFinding* rows, std::int64_t count, DeviceFinding* first);

}  // namespace slipstream

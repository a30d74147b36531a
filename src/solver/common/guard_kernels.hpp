#pragma once
// Kernels of a guard, which checks values.
#include <span>

#include <slipstream/guard.hpp>

namespace slipstream {

/// The first row with a fault on a device, or -1.
struct DeviceFinding {
  std::int64_t row = -1;
  RowFinding found;
};

/// Checks all components of a field's blocks on the stream's device. Sound values lie from `lowest` to `highest`.
void inspect_rows(Stream& stream, const Field& field, std::span<const InspectedBlock> blocks, double lowest,
                  double highest);
/// Writes the first of `count` rows with a fault to memory that the host can read.
void first_of_rows(Stream& stream, const RowFinding* rows, std::int64_t count, DeviceFinding* first);

}  // namespace slipstream

#pragma once
// The devices' part of a guard.
#include <span>

#include <slipstream/guard.hpp>

namespace slipstream {

/// Of all rows of a device: the first with a fault, or -1.
struct DeviceFinding {
  std::int64_t row = -1;
  RowFinding found;
};

/// Every component of a field in one block.
struct Inspected {
  const std::byte* origin = nullptr;  ///< interior cell (0, 0, 0), component 0
  BlockShape shape;
  DType type = DType::f32;
  int components = 1;
  double lowest = 0, highest = 0;
  RowFinding* rows = nullptr;  ///< takes the first fault of each
};

/// Of blocks on the stream's device.
void inspect_rows(Stream& stream, std::span<const Inspected> blocks);
/// The first of `count` rows with a fault, into memory that the host can read.
void first_of_rows(Stream& stream, const RowFinding* rows, std::int64_t count, DeviceFinding* first);

}  // namespace slipstream

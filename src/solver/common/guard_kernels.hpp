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

/// Of every component of the blocks of a field, on the stream's device: a value is sound from `lowest` to `highest`.
void inspect_rows(Stream& stream, const Field& field, std::span<const InspectedBlock> blocks, double lowest,
                  double highest);
/// The first of `count` rows with a fault, into memory that the host can read.
void first_of_rows(Stream& stream, const RowFinding* rows, std::int64_t count, DeviceFinding* first);

}  // namespace slipstream

#pragma once
// Copies by the stores of a kernel, where the copy engine is what they are compared with.
#include <cstdint>

#include <slipstream/stream.hpp>

namespace slipstream {

/// Copies a multiple of 8 bytes with `teams` teams; both addresses are multiples of 16 and reachable by the device.
void copy_by_teams(Stream& stream, void* to, const void* from, std::size_t bytes, std::int64_t teams);

/// As copy_box, with `teams` teams: extent = {bytes per row, rows, planes}. Widths, pitches and addresses are multiples
/// of 4, and the box has fewer than 2^31 words.
void copy_box_by_teams(Stream& stream, void* to, Pitch to_pitch, const void* from, Pitch from_pitch,
                       const Extent& extent, std::int64_t teams);

/// Teams that fill every processor of a device.
std::int64_t all_teams(Device device);

}  // namespace slipstream

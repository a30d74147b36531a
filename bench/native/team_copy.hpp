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

/// Where a small copy goes from and to.
struct CopyPiece {
  void* to;
  const void* from;
};
/// `count` pieces of `bytes` each, a multiple of 8, in one launch of `teams` teams. The table lies in memory of the
/// device, its addresses are multiples of 8.
void copy_pieces_by_teams(Stream& stream, const CopyPiece* table, std::int64_t count, std::size_t bytes,
                          std::int64_t teams);

/// Teams that compute in registers alone, `rounds` times x = x * a + b in each thread; value n of thread n is what
/// comes of it.
void compute_by_teams(Stream& stream, float* values, std::int64_t rounds, std::int64_t teams);
/// Threads of a team of those above.
int threads_a_team();

/// Teams that fill every processor of a device.
std::int64_t all_teams(Device device);

}  // namespace slipstream

#pragma once
// Copies by kernels, for comparison with the copy engine.
#include <cstdint>

#include <slipstream/stream.hpp>

namespace slipstream {

/// A kernel of `teams` thread blocks copies a multiple of 8 bytes. Both addresses must be multiples of 16 and
/// accessible to the device.
void copy_by_teams(Stream& stream, void* to, const void* from, std::size_t bytes, std::int64_t teams);

/// A kernel of `teams` thread blocks copies a box of pitched memory: extent = {bytes per row, rows, planes}. Widths,
/// pitches and addresses must be multiples of 4, and the box must have fewer than 2^31 words.
void copy_box_by_teams(Stream& stream, void* to, Pitch to_pitch, const void* from, Pitch from_pitch,
                       const Extent& extent, std::int64_t teams);

/// Addresses of the source and the target of a small copy.
struct CopyPiece {
  void* to;
  const void* from;
};
/// Copies `count` pieces of `bytes` bytes, a multiple of 8, in one launch of `teams` thread blocks. The table of their
/// addresses is in device memory; addresses are multiples of 8.
void copy_pieces_by_teams(Stream& stream, const CopyPiece* table, std::int64_t count, std::size_t bytes,
                          std::int64_t teams);

/// Computes in registers: `rounds` times x = x * a + b in each thread. Thread n writes its result to values[n].
void compute_by_teams(Stream& stream, float* values, std::int64_t rounds, std::int64_t teams);
/// Number of threads per thread block in the copy kernels.
int threads_a_team();

/// Number of thread blocks that fills every multiprocessor of a device.
std::int64_t all_teams(Device device);

}  // namespace slipstream

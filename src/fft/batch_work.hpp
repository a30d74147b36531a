#pragma once
// Work of a device on a batch that was copied from host memory. Axes are permuted so that lines are contiguous. The
// bits of a line do not depend on the size of its batch.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <slipstream/buffer.hpp>

#include "fft/lines.hpp"

namespace slipstream::fft {

/// Divides `all` FFT lines into about equal pieces of at most `most` lines. Returns a piece's number of lines: a
/// multiple of the group size BatchWork::together, or all of them.
std::int64_t even_pieces(std::int64_t all, std::int64_t most);
/// Numbers of lines in each piece of `all` lines, in order.
std::vector<std::int64_t> widths(std::int64_t all, std::int64_t of_piece);

class BatchWork {
 public:
  BatchWork(Device device, bool twice) : device_(device), twice_(twice) {}

  /// Ends planning. Until then all other calls only create transform plans and queue no work.
  void ready();
  bool planning() const { return planning_; }
  /// Bytes of device memory in use; valid after ready().
  std::int64_t bytes() const { return static_cast<std::int64_t>(workspace_.bytes()); }

  /// Transforms `planes` times `rows` interleaved lines of n values, grouped by plane. A range of rows gives the same
  /// bits as the whole plane, if its first row is a multiple of the following constant.
  static constexpr std::int64_t together = 16;
  void lines(Stream& stream, Kind kind, std::int64_t n, std::int64_t rows, std::int64_t planes, const void* from,
             void* to);
  /// Permutes complex values by strides, in complex values: (i, j, k) moves from its place in `from` to that in `to`.
  struct Strides {
    std::int64_t i, j, k;
  };
  void turn(Stream& stream, const Extent& extent, const void* from, Strides from_stride, void* to, Strides to_stride);
  /// Permutes an array [k][j][i] to [k][i][j].
  void swap_rows(Stream& stream, const Extent& extent, const void* from, void* to) {
    turn(stream, extent, from, {1, extent[0], extent[0] * extent[1]}, to, {extent[1], 1, extent[0] * extent[1]});
  }
  void copied(Stream& stream, void* to, const void* from, std::int64_t bytes);
  void scaled(Stream& stream, void* values, std::int64_t count, double factor);

 private:
  using Key = std::array<std::int64_t, 5>;
  Device device_;
  bool twice_, planning_ = true;
  std::map<Key, std::unique_ptr<Lines>> plans_;
  Buffer<std::byte> workspace_;
};

}  // namespace slipstream::fft

#pragma once
// The work of a device on a batch of values that came from host memory. Axes are turned, so that lines lie without
// gaps: no line's bits depend on how many came along.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <slipstream/buffer.hpp>

#include "fft/lines.hpp"

namespace slipstream::fft {

/// How wide pieces of `all` lines are, of which one may have `most`: multiples of BatchWork::together, or all; about
/// the same each.
std::int64_t even_pieces(std::int64_t all, std::int64_t most);
/// The widths of all pieces.
std::vector<std::int64_t> widths(std::int64_t all, std::int64_t of_piece);

class BatchWork {
 public:
  BatchWork(Device device, bool twice) : device_(device), twice_(twice) {}

  /// Until ready(), calls make plans and queue nothing.
  void ready();
  bool planning() const { return planning_; }
  /// Bytes of the device, once ready.
  std::int64_t bytes() const { return static_cast<std::int64_t>(workspace_.bytes()); }

  /// `planes` times `rows` lines of n values, side by side. Lines are grouped by plane, as those of a transform that is
  /// resident: ranges of rows that begin at multiples of `together` have the bits of whole planes.
  static constexpr std::int64_t together = 16;
  void lines(Stream& stream, Kind kind, std::int64_t n, std::int64_t rows, std::int64_t planes, const void* from,
             void* to);
  /// Complex value (i, j, k) goes from one place to another; strides in complex values.
  struct Strides {
    std::int64_t i, j, k;
  };
  void turn(Stream& stream, const Extent& extent, const void* from, Strides from_stride, void* to, Strides to_stride);
  /// [k][j][i] becomes [k][i][j].
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

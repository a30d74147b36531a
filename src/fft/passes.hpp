#pragma once
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <slipstream/box.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::fft {

/// Sets the complex values of a block to zero that lie outside of the ranges along some axis; an axis without ranges is
/// within. A range is of the whole grid, whose cells the block counts from box.lo on; an axis has at most two.
void clear_outside(Stream& stream, void* values, const Box& box, bool twice,
                   const std::array<std::vector<std::pair<std::int64_t, std::int64_t>>, 3>& ranges);
/// Multiplies f32 or f64 numbers by a factor.
void scale(Stream& stream, void* values, std::int64_t count, bool twice, double factor);

/// Complex value (i, j, k) of `from` goes to its place in `to`; strides in complex values.
void turn(Stream& stream, bool twice, const Extent& extent, const void* from, const Extent& from_stride, void* to,
          const Extent& to_stride);

}  // namespace slipstream::fft

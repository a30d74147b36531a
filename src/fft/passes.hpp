#pragma once
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <slipstream/box.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::fft {

/// Sets complex values of a block outside of the ranges to zero. An axis has at most two ranges; without any, all of it
/// is kept. Ranges use global indices; the block begins at box.lo.
void clear_outside(Stream& stream, void* values, const Box& box, bool twice,
                   const std::array<std::vector<std::pair<std::int64_t, std::int64_t>>, 3>& ranges);
/// Multiplies f32 or f64 numbers by a factor.
void scale(Stream& stream, void* values, std::int64_t count, bool twice, double factor);

/// Permutes complex values by strides, in complex values: (i, j, k) moves from its place in `from` to that in `to`.
void permute(Stream& stream, bool twice, const Extent& extent, const void* from, const Extent& from_stride, void* to,
             const Extent& to_stride);

}  // namespace slipstream::fft

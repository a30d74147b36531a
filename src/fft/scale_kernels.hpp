#pragma once
#include <cstdint>

#include <slipstream/stream.hpp>

namespace slipstream::fft {

/// Multiplies f32 or f64 numbers by a factor.
void scale(Stream& stream, void* values, std::int64_t count, bool twice, double factor);

}  // namespace slipstream::fft

#pragma once
// Transforms by cufftXt on several GPUs of one process; the library is loaded if present.
#include <array>
#include <vector>

#include <slipstream/field.hpp>

namespace slipstream::fft {

/// Microseconds of one transform of zeros in each direction: in place, with the spectrum in cufftXt's order, by the
/// host's clock. Median of `repeats` after two warm-ups. Throws Error with the library's reason if unavailable.
std::array<double, 2> cufft_xt_us(const std::vector<Device>& devices, const Extent& cells, DType type, int repeats);

}  // namespace slipstream::fft

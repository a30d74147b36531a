#pragma once
// cufftXt, which drives several GPUs of one process, loaded when it is there.
#include <array>
#include <vector>

#include <slipstream/field.hpp>

namespace slipstream::fft {

/// Microseconds of one transform of zeros each way: in place, the spectrum as it leaves it, by the host's clock; median
/// of `repeats` after two. Throws Error, with the library's reason, where it cannot.
std::array<double, 2> cufft_xt_us(const std::vector<Device>& devices, const Extent& cells, DType type, int repeats);

}  // namespace slipstream::fft

#pragma once
// cuFFT, loaded when it is there.
#include <array>

#include <slipstream/box.hpp>

#include "fft/lines.hpp"

namespace slipstream::fft {

std::string cufft_missing();
std::unique_ptr<Lines> make_cufft_lines(Device device, const LineBatch& batch);

/// Microseconds of one transform each way by cufftXt, which drives several GPUs of one process: in place, the spectrum
/// as it leaves it, by the host's clock; median of `repeats` after two. Of zeros. Throws Error, with the library's
/// reason, where it cannot.
std::array<double, 2> cufft_xt_us(const std::vector<Device>& devices, const Extent& cells, DType type, int repeats);

}  // namespace slipstream::fft

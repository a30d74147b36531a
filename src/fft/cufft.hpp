#pragma once
// cuFFT, loaded when it is there.
#include "fft/lines.hpp"

namespace slipstream::fft {

std::string cufft_missing();
std::unique_ptr<Lines> make_cufft_lines(Device device, const LineBatch& batch);

}  // namespace slipstream::fft

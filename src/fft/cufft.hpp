#pragma once
// Loads cuFFT at run time.
#include "device/library.hpp"
#include "fft/lines.hpp"

namespace slipstream::fft {

std::string cufft_missing();
std::unique_ptr<Lines> make_cufft_lines(Device device, const LineBatch& batch);

// Returns the first cuFFT library found in the search order. Defined only in builds with
// cuFFT.
Library cufft_library();
/// Throws if a cuFFT call failed; `what` describes the call.
void check_cufft(int result, const std::string& what);

}  // namespace slipstream::fft

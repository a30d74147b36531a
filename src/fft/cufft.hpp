#pragma once
// cuFFT, loaded when it is there.
#include "fft/lines.hpp"
#include "route/library.hpp"

namespace slipstream::fft {

std::string cufft_missing();
std::unique_ptr<Lines> make_cufft_lines(Device device, const LineBatch& batch);

// Builds with cuFFT alone have these two.
/// The library, from the first place that has it.
Library cufft_library();
/// Throws where a call that should `what` returned something else than success.
void check_cufft(int result, const std::string& what);

}  // namespace slipstream::fft

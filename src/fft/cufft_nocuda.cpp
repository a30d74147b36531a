#include <slipstream/error.hpp>

#include "fft/cufft.hpp"

namespace slipstream::fft {

std::string cufft_missing() { return "this build has no cuFFT (needs a CUDA build with cufft.h)"; }
std::unique_ptr<Lines> make_cufft_lines(Device, const LineBatch&) {
  throw Error(ErrorCode::unavailable, cufft_missing());
}

}  // namespace slipstream::fft

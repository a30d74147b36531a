#include <slipstream/error.hpp>

#include "native/cufft_xt.hpp"

namespace slipstream::fft {

std::array<double, 2> cufft_xt_us(const std::vector<Device>&, const Extent&, DType, int) {
  throw Error(ErrorCode::unavailable, "this build has no cuFFT (needs a CUDA build with cufft.h)");
}

}  // namespace slipstream::fft

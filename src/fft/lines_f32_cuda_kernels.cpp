#include "fft/line_families_kernels.hpp"

namespace slipstream::fft {

template struct LineFamily<float, 1>;

}  // namespace slipstream::fft

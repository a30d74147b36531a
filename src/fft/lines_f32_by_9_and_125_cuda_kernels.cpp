#include "fft/line_families_kernels.hpp"

namespace slipstream::fft {

template struct LineFamily<float, 9>;
template struct LineFamily<float, 125>;

}  // namespace slipstream::fft

#include "fft/line_families_kernels.hpp"

namespace slipstream::fft {

template struct LineFamily<double, 1>;

}  // namespace slipstream::fft

#include "fft/line_families_kernels.hpp"

namespace slipstream::fft {

template struct LineFamily<double, 9>;
template struct LineFamily<double, 125>;

}  // namespace slipstream::fft

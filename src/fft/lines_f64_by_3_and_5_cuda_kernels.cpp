#include "fft/line_families_kernels.hpp"

namespace slipstream::fft {

template struct LineFamily<double, 3>;
template struct LineFamily<double, 5>;

}  // namespace slipstream::fft

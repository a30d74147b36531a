#include "fft/line_families_kernels.hpp"

namespace slipstream::fft {

template struct LineFamily<float, 3>;
template struct LineFamily<float, 5>;

}  // namespace slipstream::fft

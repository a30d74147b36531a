#include "fft/cufftdx_tiles.hpp"

namespace slipstream::fft {

template void launch_cufftdx_lines<double, false>(Stream&, int, const LineJob<double>&);

}  // namespace slipstream::fft

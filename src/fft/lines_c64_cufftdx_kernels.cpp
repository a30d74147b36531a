#include "fft/cufftdx_tiles.hpp"

namespace slipstream::fft {

template void launch_cufftdx_lines<float, false>(Stream&, int, const LineJob<float>&);

}  // namespace slipstream::fft

#include "fft/cufftdx_tiles.hpp"

namespace slipstream::fft {

template void launch_cufftdx_lines<float>(Stream&, int, bool, const LineJob<float>&);

}  // namespace slipstream::fft

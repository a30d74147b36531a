#include "fft/cufftdx_tiles.hpp"

namespace slipstream::fft {

template void launch_cufftdx_lines<double>(Stream&, int, bool, const LineJob<double>&);

}  // namespace slipstream::fft

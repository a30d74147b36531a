#include "fft/line_kernels.hpp"

namespace slipstream::fft {

template void launch_line_tiles_of_odd<float, false, 3>(Stream&, int, const LineJob<float>&);
template void launch_line_tiles_of_odd<float, false, 5>(Stream&, int, const LineJob<float>&);

}  // namespace slipstream::fft

#include "fft/line_kernels.hpp"

namespace slipstream::fft {

template void launch_line_tiles_of_odd<double, false, 3>(Stream&, int, const LineJob<double>&);
template void launch_line_tiles_of_odd<double, false, 5>(Stream&, int, const LineJob<double>&);

}  // namespace slipstream::fft

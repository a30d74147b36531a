#include <slipstream/fft/line_kernels.hpp>

namespace slipstream::fft {

template void launch_line_tiles_of_odd<double, true, 1>(Stream&, int, const LineJob<double>&, const AsTheyAre&);

}  // namespace slipstream::fft

#include <slipstream/fft/line_kernels.hpp>

namespace slipstream::fft {

template void launch_line_tiles_of_odd<double, true, 3>(Stream&, int, const LineJob<double>&, const AsTheyAre&);
template void launch_line_tiles_of_odd<double, true, 5>(Stream&, int, const LineJob<double>&, const AsTheyAre&);
template void launch_line_tiles_of_odd<double, true, 9>(Stream&, int, const LineJob<double>&, const AsTheyAre&);
template void launch_line_tiles_of_odd<double, true, 125>(Stream&, int, const LineJob<double>&, const AsTheyAre&);

}  // namespace slipstream::fft

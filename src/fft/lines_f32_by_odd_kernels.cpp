#include <slipstream/fft/line_kernels.hpp>

namespace slipstream::fft {

template void launch_line_tiles_of_odd<float, true, 3>(Stream&, int, const LineJob<float>&, const AsTheyAre&);
template void launch_line_tiles_of_odd<float, true, 5>(Stream&, int, const LineJob<float>&, const AsTheyAre&);
template void launch_line_tiles_of_odd<float, true, 9>(Stream&, int, const LineJob<float>&, const AsTheyAre&);
template void launch_line_tiles_of_odd<float, true, 125>(Stream&, int, const LineJob<float>&, const AsTheyAre&);

}  // namespace slipstream::fft

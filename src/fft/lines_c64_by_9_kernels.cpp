#include <slipstream/fft/line_kernels.hpp>

#include "fft/factor.hpp"

namespace slipstream::fft {

template void launch_line_tiles_of_odd<float, false, 9>(Stream&, int, const LineJob<float>&, const AsTheyAre&);
template void launch_line_tiles_of_odd<float, false, 9>(Stream&, int, const LineJob<float>&,
                                                        const ReadThrough<float, Factor<float>>&);

}  // namespace slipstream::fft

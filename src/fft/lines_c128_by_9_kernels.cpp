#include <slipstream/fft/line_kernels.hpp>

#include "fft/factor.hpp"

namespace slipstream::fft {

template void launch_line_tiles_of_odd<double, false, 9>(Stream&, int, const LineJob<double>&, const AsTheyAre&);
template void launch_line_tiles_of_odd<double, false, 9>(Stream&, int, const LineJob<double>&,
                                                         const ReadThrough<double, Factor<double>>&);

}  // namespace slipstream::fft

#include "fft/line_launch.hpp"

namespace slipstream::fft {

template <>
void launch_line_tiles<double, false>(Stream& stream, int length, const LineJob<double>& job) {
  launch_line_tiles_from<double, false, shortest_line>(stream, length, job);
}

}  // namespace slipstream::fft

#include "fft/line_launch.hpp"

namespace slipstream::fft {

template <>
void launch_line_tiles<float, false>(Stream& stream, int length, const LineJob<float>& job) {
  launch_line_tiles_from<float, false, shortest_line>(stream, length, job);
}

}  // namespace slipstream::fft

#pragma once
// Transforms of lines by cuFFTDx, NVIDIA's transforms for device code, of lengths that our own radix kernels lack.
// Needs SLIPSTREAM_CUFFTDX and a GPU.
#include <slipstream/stream.hpp>

#include <slipstream/fft/line_launch.hpp>

namespace slipstream::fft {

/// Lengths of lines in values. A thread block transforms a line in parts of 448 or 480 values.
template <int... lengths>
struct LineLengths {};
using CufftdxLengths = LineLengths<448, 480, 896, 960>;
using CufftdxRealLengths = LineLengths<896, 960>;

template <int... lengths>
constexpr bool is_one_of(LineLengths<lengths...>, std::int64_t length) {
  return ((length == lengths) || ...);
}
constexpr bool is_cufftdx_line(std::int64_t length, bool real) {
  return real ? is_one_of(CufftdxRealLengths{}, length) : is_one_of(CufftdxLengths{}, length);
}

/// Launches the transform of tiles; the contract is that of LineFamily::launch.
template <class T>
void launch_cufftdx_lines(Stream& stream, int length, bool real, const LineJob<T>& job);

}  // namespace slipstream::fft

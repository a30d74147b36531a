#pragma once
// Lengths of lines for which FFT kernels exist, and the arguments of a kernel launch.
#include <slipstream/fft/line_tiles.hpp>

namespace slipstream::fft {

/// Longest line of FFT kernels. They exist for 2^k, 3 * 2^k, 5 * 2^k, 9 * 2^k and 125 * 2^k values. The shortest line
/// of real values is twice as long as that of complex values.
constexpr int longest_line = 2048;
/// Longest FFT line that is transformed in one part when a point-wise operation is applied on load. Longer lines are
/// split, and each part would apply the operation to the whole line.
constexpr int longest_line_through = 512;
constexpr int shortest_line(int odd) {
  // shortest line that has an FFT kernel, by the odd factor of its length; 0: no kernels
  return odd == 1 ? 16 : odd == 3 ? 48 : odd == 5 ? 80 : odd == 9 ? 144 : odd == 125 ? 250 : 0;
}
constexpr bool is_line(std::int64_t length, bool real) {
  if (length < 1 || length > longest_line) return false;
  const int shortest = shortest_line(odd_factor(static_cast<int>(length)));
  return shortest > 0 && length >= (real ? 2 : 1) * shortest;
}

/// Whether the host, which mostly uses FFTW, also has the GPUs' FFT kernel for a line length, in f64 only. Tests
/// without a GPU thereby cover every way to read, split and store lines (docs/notes/performance.md).
constexpr bool is_host_line(bool twice, std::int64_t length, bool real) {
  if (!twice) return false;
  return length == 32 || (real ? length == 2048 : length == 16 || length == 1024);
}

template <class T>
struct LineJob {
  LinePass<T> pass[2];
  TwoPasses two;
  bool forward = true;
  const Pair<T>* roots = nullptr;  ///< roots of unity, exp(-2 pi i k / length)
  bool narrow = false;             ///< whether a single pass uses narrow tiles (half the lines, twice the values each)
};

}  // namespace slipstream::fft

#pragma once
// The lines that kernels exist for, and what a launch of them is told.
#include <slipstream/fft/line_tiles.hpp>

namespace slipstream::fft {

/// Lengths that kernels for GPUs exist for: 2^k, 3 * 2^k, 5 * 2^k, 9 * 2^k and 125 * 2^k, of real lines from twice the
/// shortest on.
constexpr int longest_line = 2048;
/// Of those that are read through an operation: longer ones go in parts, each of which would do it for the whole line.
constexpr int longest_line_through = 512;
constexpr int shortest_line(int odd) {
  return odd == 1 ? 16 : odd == 3 ? 48 : odd == 5 ? 80 : odd == 9 ? 144 : odd == 125 ? 250 : 0;  // 0: none
}
constexpr bool is_line(std::int64_t length, bool real) {
  if (length < 1 || length > longest_line) return false;
  const int shortest = shortest_line(odd_factor(static_cast<int>(length)));
  return shortest > 0 && length >= (real ? 2 : 1) * shortest;
}

/// The host transforms by FFTW. In f64 it has these of the kernels' lines, too, by which tests see without a GPU each
/// way in which lines are read, done in parts and stored (docs/notes/performance.md).
constexpr bool is_host_line(bool twice, std::int64_t length, bool real) {
  if (!twice) return false;
  return length == 32 || (real ? length == 2048 : length == 16 || length == 1024);
}

template <class T>
struct LineJob {
  LinePass<T> pass[2];
  TwoPasses two;
  bool forward = true;
  const Pair<T>* roots = nullptr;  ///< exp(-2 pi i k / length)
  bool narrow = false;             ///< one pass, of narrow tiles (is_narrow()), as the second of two apart has them
};

}  // namespace slipstream::fft

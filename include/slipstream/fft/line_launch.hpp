#pragma once
// Launches of tiles of lines, by the length that they have when the program runs. Defined in line_kernels.hpp, for
// files that instantiate them.
#include <slipstream/fft/line_tiles.hpp>

#include <slipstream/stream.hpp>

namespace slipstream::fft {

/// Lengths that kernels exist for: 2^k, 3 * 2^k, 5 * 2^k, 9 * 2^k and 125 * 2^k, of real lines from twice the shortest
/// on.
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

template <class T>
struct LineJob {
  LinePass<T> pass[2];
  TwoPasses two;
  bool forward = true;
  const Pair<T>* roots = nullptr;  ///< exp(-2 pi i k / length)
  bool narrow = false;             ///< one pass, of narrow tiles (is_narrow()), as the second of two apart has them
};

/// One pass over lines of `length`, or two passes of the same length whose first is `real`; lengths of an odd factor.
template <class T, bool real, int odd, class Read>
void launch_line_tiles_of_odd(Stream& stream, int length, const LineJob<T>& job, const Read& read);

template <class T, bool real, class Read = AsTheyAre>
void launch_line_tiles(Stream& stream, int length, const LineJob<T>& job, const Read& read = {}) {
  const int odd = odd_factor(length);
  if (odd == 1) return launch_line_tiles_of_odd<T, real, 1>(stream, length, job, read);
  if (odd == 3) return launch_line_tiles_of_odd<T, real, 3>(stream, length, job, read);
  if (odd == 5) return launch_line_tiles_of_odd<T, real, 5>(stream, length, job, read);
  if (odd == 9) return launch_line_tiles_of_odd<T, real, 9>(stream, length, job, read);
  launch_line_tiles_of_odd<T, real, 125>(stream, length, job, read);
}

}  // namespace slipstream::fft

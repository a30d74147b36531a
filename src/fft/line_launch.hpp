#pragma once
// Launches of tiles of lines, by the length that they have when the program runs. Instantiated in files of their own.
#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include "fft/line_tiles.hpp"

namespace slipstream::fft {

/// Lengths that kernels exist for; of real lines from twice the shortest on.
constexpr int shortest_line = 16, longest_line = 2048;

template <class T>
struct LineJob {
  LinePass<T> pass[2];
  TwoPasses two;
  bool forward = true;
  const Pair<T>* roots = nullptr;  ///< exp(-2 pi i k / length)
};

/// The kernel of a length, `length` values or `real` numbers.
template <class T, bool real, int length>
void launch_line_tiles_of(Stream& stream, const LineJob<T>& job) {
  using Kernel = LineTiles<T, length, real>;
  const Kernel kernel{{job.pass[0], job.pass[1]}, job.two, job.forward, job.roots};
  launch_teams(stream, job.two.chunks > 0 ? kernel.teams_of_both() : kernel.teams(), Kernel::threads,
               Kernel::shared_bytes(), kernel);
}

/// One pass over lines of `length`, or two passes of the same length whose first is `real`.
template <class T, bool real>
void launch_line_tiles(Stream& stream, int length, const LineJob<T>& job);

template <class T, bool real, int length>
void launch_line_tiles_from(Stream& stream, int wanted, const LineJob<T>& job) {
  if (wanted == length) return launch_line_tiles_of<T, real, length>(stream, job);
  if constexpr (length < longest_line) {
    launch_line_tiles_from<T, real, 2 * length>(stream, wanted, job);
  } else {
    throw Error("no kernel transforms lines of " + std::to_string(wanted) + " values");
  }
}

template <>
void launch_line_tiles<float, false>(Stream&, int, const LineJob<float>&);
template <>
void launch_line_tiles<float, true>(Stream&, int, const LineJob<float>&);
template <>
void launch_line_tiles<double, false>(Stream&, int, const LineJob<double>&);
template <>
void launch_line_tiles<double, true>(Stream&, int, const LineJob<double>&);

}  // namespace slipstream::fft

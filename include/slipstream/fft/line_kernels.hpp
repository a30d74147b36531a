#pragma once
#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include <slipstream/fft/line_launch.hpp>

namespace slipstream::fft {

/// The kernel of a length, `length` values or `real` numbers. Lines that are read through an operation go in one pass.
template <class T, bool real, int length, class Tiles = Tiling<T, length>, class Read>
void launch_line_tiles_of(Stream& stream, const LineJob<T>& job, const Read& read) {
  if constexpr (is_narrow(length) && !real && std::is_same_v<Read, AsTheyAre> &&
                std::is_same_v<Tiles, Tiling<T, length>>)
    if (job.narrow) return launch_line_tiles_of<T, real, length, NarrowTiling<T, length>>(stream, job, read);
  using Kernel = LineTiles<T, length, real, Read, Tiles>;
  const Kernel kernel{{job.pass[0], job.pass[1]}, job.two, job.forward, job.roots, read};
  launch_teams(stream, job.two.chunks > 0 ? kernel.teams_of_both() : kernel.teams(), Kernel::threads,
               Kernel::shared_bytes(), kernel);
}

template <class T, bool real, int length, class Read>
void launch_line_tiles_from(Stream& stream, int wanted, const LineJob<T>& job, const Read& read) {
  if (wanted == length) return launch_line_tiles_of<T, real, length>(stream, job, read);
  constexpr int longest = std::is_same_v<Read, AsTheyAre> ? longest_line : longest_line_through;
  if constexpr (2 * length <= longest) {
    launch_line_tiles_from<T, real, 2 * length>(stream, wanted, job, read);
  } else {
    throw Error(ErrorCode::unsupported, "no kernel transforms lines of " + std::to_string(wanted) + " values");
  }
}

template <class T, bool real, int odd, class Read>
void launch_line_tiles_of_odd(Stream& stream, int length, const LineJob<T>& job, const Read& read) {
  launch_line_tiles_from<T, real, (real ? 2 : 1) * shortest_line(odd)>(stream, length, job, read);
}

}  // namespace slipstream::fft

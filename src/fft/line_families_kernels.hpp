#pragma once
#include <slipstream/fft/line_kernels.hpp>

#include "fft/line_families.hpp"

namespace slipstream::fft {

template <class T, bool real, int length, class Read>
void launch_from(Stream& stream, int wanted, const LineJob<T>& job, const Read& read) {
  if (wanted == length) return launch_line_tiles_of<T, real, length>(stream, job, read);
  constexpr int longest = std::is_same_v<Read, AsTheyAre> ? longest_line : longest_line_through;
  if constexpr (2 * length <= longest) {
    launch_from<T, real, 2 * length>(stream, wanted, job, read);
  } else {
    throw Error(ErrorCode::unsupported, "no kernel transforms lines of " + std::to_string(wanted) + " values");
  }
}

template <class T, int odd>
void LineFamily<T, odd>::launch(Stream& stream, int length, bool real, const LineJob<T>& job) {
  if (real) return launch_from<T, true, 2 * shortest_line(odd)>(stream, length, job, AsTheyAre{});
  launch_from<T, false, shortest_line(odd)>(stream, length, job, AsTheyAre{});
}

template <class T, int odd>
void LineFamily<T, odd>::launch_through(Stream& stream, int length, const LineJob<T>& job,
                                        const ReadThrough<T, Factor<T>>& read) {
  launch_from<T, false, shortest_line(odd)>(stream, length, job, read);
}

}  // namespace slipstream::fft

#pragma once
// Tiles of lines by the length that they have when the program runs. A unit of its own compiles the lines of a type and
// an odd factor; builds without CUDA have those alone among which there are some of the host.
#include <slipstream/fft/pointwise.hpp>

#include "fft/factor.hpp"

namespace slipstream::fft {

/// Lines of `odd` * 2^k values. Defined in line_families_kernels.hpp, or where there are none, in lines_nocuda.cpp.
template <class T, int odd>
struct LineFamily {
  static void launch(Stream& stream, int length, bool real, const LineJob<T>& job);
  /// Complex lines, read through a factor.
  static void launch_through(Stream& stream, int length, const LineJob<T>& job, const ReadThrough<T, Factor<T>>& read);
};

/// Calls f(LineFamily<T, odd>{}) of the family that has lines of this length.
template <class T, class F>
void with_family(int length, const F& f) {
  switch (odd_factor(length)) {
    case 1:
      return f(LineFamily<T, 1>{});
    case 3:
      return f(LineFamily<T, 3>{});
    case 5:
      return f(LineFamily<T, 5>{});
    case 9:
      return f(LineFamily<T, 9>{});
    default:
      return f(LineFamily<T, 125>{});
  }
}

}  // namespace slipstream::fft

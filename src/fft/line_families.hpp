#pragma once
// Selects FFT kernels at run time by the length of the lines. A family of kernels, compiled in its own file, has one
// number type and one odd factor of the length. Builds without CUDA have only families for the host.
#include <slipstream/fft/pointwise.hpp>

#include "fft/factor.hpp"

namespace slipstream::fft {

/// Kernels for lines of `odd` * 2^k values. Defined in line_families_kernels.hpp, or in lines_nocuda.cpp for families
/// without kernels.
template <class T, int odd>
struct LineFamily {
  static void launch(Stream& stream, int length, bool real, const LineJob<T>& job);
  /// Transforms complex lines and multiplies them by a factor on load.
  static void launch_through(Stream& stream, int length, const LineJob<T>& job, const ReadThrough<T, Factor<T>>& read);
};

/// Calls f with the kernels (LineFamily) of 1-D Fourier transforms whose lengths, odd * 2^k, include `length`.
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

#pragma once
// User-defined operations on modes, for Fft::convolve().
#include <slipstream/fft.hpp>

#include <slipstream/fft/line_kernels.hpp>
#include <slipstream/fft/pointwise.hpp>

namespace slipstream::fft {

/// Line lengths along the first axis for which FFT kernels with a user-defined operation are compiled. Possible lengths
/// are those up to 512 (longest_line_through) with an FFT kernel: 2^k, 3 * 2^k, 5 * 2^k, 9 * 2^k or 125 * 2^k.
template <int... lengths>
struct Lengths {
  static bool hold(std::int64_t length) { return ((length == lengths) || ...); }
  template <class T, class Read>
  static void launch(Stream& stream, int length, const LineJob<T>& job, const Read& read) {
    ((length == lengths ? launch_line_tiles_of<T, false, lengths>(stream, job, read) : void()), ...);
  }
};

/// Makes the operations of Fft::convolve() from one functor for each local block of the spectrum. T: float or double,
/// the plan's precision.
template <class T, class Held = NoLengths, class F>
Fft::Operations operations_of(const Fft& plan, const std::vector<F>& functors) {
  const std::vector<std::int64_t>& local = plan.spectral().local();
  require(functors.size() == local.size(), ErrorCode::mismatch,
          "operations on modes were made of " + std::to_string(functors.size()) + " functors for " +
              std::to_string(local.size()) + " blocks of this rank: give one for each");
  Fft::Operations found;
  for (std::size_t n = 0; n < local.size(); ++n)
    found.push_back(
        std::make_shared<PointwiseOf<T, F, Held>>(plan.mode_block(local[n]), functors[n], plan.backward_factor()));
  return found;
}

}  // namespace slipstream::fft

#pragma once
// FFTs by cuFFTDx of tiles: adjacent lines that one thread block transforms together.
#include <slipstream/fft/line_kernels.hpp>

#include "device/block_transform.hpp"
#include "fft/cufftdx_lines.hpp"

namespace slipstream::fft {

/// Transforms a tile by cuFFTDx instead of radix passes. Modes are in natural order. A thread holds `each` values.
template <class T, int length, int each>
struct CufftdxPass {
  static constexpr int values = length, count = 1, first = each, last = 8, step = 1;
  static_assert(length % last == 0);
  SLIP_FN static int mode(int place) { return place; }
  SLIP_FN static int place(int mode) { return mode; }

  SLIP_FN static void transform(Pair<T> (&x)[each], Pair<T>* tile) {
    block_transform<T, length, Tiling<T, length>::wide>(x, tile);
  }
};

template <class T, int length>
struct CufftdxTiling : Tiling<T, length> {
  static constexpr int held = length / Tiling<T, length>::parts(length);
  static constexpr int each = held == 448 ? 14 : 30;
  static constexpr int block_rows = Tiling<T, length>::wide, threads = held / each * block_rows;
  static constexpr int resident = 2;
  template <int values>
  using Passes = CufftdxPass<T, values, each>;
  using Narrow = CufftdxTiling;
};

template <class T, bool real, int... lengths>
void launch_one_of(LineLengths<lengths...>, Stream& stream, int wanted, const LineJob<T>& job) {
  const auto launch = [&]<int length>(std::integral_constant<int, length>) {
    if (wanted == length) launch_line_tiles_of<T, real, length, CufftdxTiling<T, length>>(stream, job, AsTheyAre{});
    return wanted == length;
  };
  require((launch(std::integral_constant<int, lengths>{}) || ...), ErrorCode::unsupported,
          "cuFFTDx transforms no lines of " + std::to_string(wanted) + " values here");
}

template <class T>
void launch_cufftdx_lines(Stream& stream, int length, bool real, const LineJob<T>& job) {
  if (real) return launch_one_of<T, true>(CufftdxRealLengths{}, stream, length, job);
  launch_one_of<T, false>(CufftdxLengths{}, stream, length, job);
}

}  // namespace slipstream::fft

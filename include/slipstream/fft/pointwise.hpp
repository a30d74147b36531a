#pragma once
// Point-wise operations on modes between a forward and a backward transform (Fft::convolve).
#include <memory>
#include <utility>

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include <slipstream/fft/line_launch.hpp>
#include <slipstream/fft/modes.hpp>

namespace slipstream::fft {

/// Numbers of a block's FFT lines, by strides from line to line and from plane to plane: across * line + third * plane.
struct LineNumbers {
  std::int32_t across = 1, third = 0;
};

/// An operation on the modes of one block. The caller must keep it until it has run.
class Pointwise {
 public:
  virtual ~Pointwise() = default;
  /// Applies a point-wise operation to modes in a separate pass; input and output may be the same array.
  virtual void pass(Stream& stream, const void* from, void* to) const = 0;
  /// Applies the operation on the host, to lines first .. behind - 1 along the block's first axis. `values` points to
  /// line `first`.
  virtual void lines(std::int64_t first, std::int64_t behind, void* values) const = 0;
  /// Whether kernels exist that apply the operation on load, to lines of this length along the first axis.
  virtual bool rides(std::int64_t length) const = 0;
  virtual void ride(Stream&, int, const LineJob<float>&, const LineNumbers&) const { refuse(); }
  virtual void ride(Stream&, int, const LineJob<double>&, const LineNumbers&) const { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw Error(ErrorCode::mismatch, "an operation on modes was given lines of another number format");
  }
};

/// Applies a point-wise operation to the modes of FFT lines while a kernel loads them.
template <class T, class F>
struct ReadThrough {
  OnModes<T, F> on;
  LineNumbers numbers;
  SLIP_FN Pair<T> operator()(const Pair<T>& value, int place, int line, int plane) const {
    const auto number = static_cast<std::uint32_t>(line * numbers.across + plane * numbers.third);
    const auto row = static_cast<std::uint32_t>(on.block.extent[1]);
    return on(value, place, static_cast<int>(number % row), static_cast<int>(number / row));
  }
};

/// Applies an operation in a separate pass over a block.
template <class T, class F>
struct PassOver {
  OnModes<T, F> on;
  const Pair<T>* from;
  Pair<T>* to;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = (static_cast<std::int64_t>(k) * on.block.extent[1] + j) * on.block.extent[0] + i;
    to[at] = on(from[at], i, j, k);
  }
};

/// A point-wise operation without FFT kernels that apply it on load, so that only the separate pass exists.
struct NoLengths {
  static bool hold(std::int64_t) { return false; }
  template <class T, class Read>
  static void launch(Stream&, int, const LineJob<T>&, const Read&) {}
};

/// Point-wise operation on Fourier modes, made from a trivially copyable functor with `SLIP_FN Pair<T> operator()(const
/// Mode&, const Pair<T>&) const`. Parameter Held is a class Lengths: line lengths whose FFT kernels apply the operation
/// as they load modes, without a separate pass. To run on GPUs, compile the file that uses it as CUDA.
template <class T, class F, class Held = NoLengths>
class PointwiseOf final : public Pointwise {
 public:
  PointwiseOf(const ModeBlock& block, const F& f, double factor) : on_{block, f, static_cast<T>(factor)} {}

  void pass(Stream& stream, const void* from, void* to) const override {
    const auto& extent = on_.block.extent;
    launch(stream, {{0, 0, 0}, {extent[0], extent[1], extent[2]}},
           PassOver<T, F>{on_, static_cast<const Pair<T>*>(from), static_cast<Pair<T>*>(to)});
  }
  void lines(std::int64_t first, std::int64_t behind, void* values) const override {
    const std::int32_t length = on_.block.extent[0];
    auto* at = static_cast<Pair<T>*>(values);
    for (std::int64_t line = first; line < behind; ++line, at += length) {
      const auto j = static_cast<int>(line % on_.block.extent[1]), k = static_cast<int>(line / on_.block.extent[1]);
      for (int i = 0; i < length; ++i) at[i] = on_(at[i], i, j, k);
    }
  }
  using Pointwise::ride;
  bool rides(std::int64_t length) const override { return Held::hold(length); }
  void ride(Stream& stream, int length, const LineJob<T>& job, const LineNumbers& numbers) const override {
    Held::launch(stream, length, job, ReadThrough<T, F>{on_, numbers});
  }

 private:
  OnModes<T, F> on_;
};

}  // namespace slipstream::fft

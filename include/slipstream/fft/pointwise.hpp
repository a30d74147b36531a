#pragma once
// What is done with each mode between a forward and a backward transform (Fft::convolve), in the kernels of a device.
#include <memory>
#include <utility>

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include <slipstream/fft/line_launch.hpp>
#include <slipstream/fft/modes.hpp>

namespace slipstream::fft {

/// How lines of a launch are numbered in their block: across * (number in the plane) + third * (plane).
struct LineNumbers {
  std::int32_t across = 1, third = 0;
};

/// On the modes of one block. Whoever queues it keeps it until it has run.
class Pointwise {
 public:
  virtual ~Pointwise() = default;
  /// In a pass of its own; both may be the same array.
  virtual void pass(Stream& stream, const void* from, void* to) const = 0;
  /// On the host: of lines first .. behind - 1 along the block's first axis, of which `values` are the first's.
  virtual void lines(std::int64_t first, std::int64_t behind, void* values) const = 0;
  /// Whether kernels exist in which lines of this length along the first axis are read through it.
  virtual bool rides(std::int64_t length) const = 0;
  virtual void ride(Stream&, int, const LineJob<float>&, const LineNumbers&) const { refuse(); }
  virtual void ride(Stream&, int, const LineJob<double>&, const LineNumbers&) const { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw Error(ErrorCode::mismatch, "an operation on modes was given lines of another number format");
  }
};

/// Reads the lines of a launch through an operation.
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

/// A pass over a block.
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

/// No kernels but those of a pass.
struct NoLengths {
  static bool hold(std::int64_t) { return false; }
  template <class T, class Read>
  static void launch(Stream&, int, const LineJob<T>&, const Read&) {}
};

/// Of a functor with `SLIP_FN Pair<T> operator()(const Mode&, const Pair<T>&) const`, trivially copyable. Held:
/// lengths of lines that kernels read through it (Lengths of slipstream/fft/operations.hpp). A file that names this is
/// compiled as CUDA where it shall run on GPUs.
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

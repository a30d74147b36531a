#pragma once
// Wave numbers of the values of a block of modes.
#include <cstdint>

#include <slipstream/device/function.hpp>
#include <slipstream/fft/radix.hpp>

namespace slipstream::fft {

/// A mode of a block: -n_a / 2 < k_a <= n_a / 2, and the index of its value in the block's array.
struct Mode {
  std::int32_t x, y, z;
  std::int64_t at;
};

/// The modes of one block of the spectrum.
struct ModeBlock {
  std::int32_t cells[3];    ///< cells of the whole box along x, y, z
  std::int32_t first[3];    ///< index of the block's first mode along x, y, z
  std::int32_t extent[3];   ///< extent of the block along its own axes
  std::int32_t highest[3];  ///< highest |k| of the modes in use along x, y, z
  bool transposed;          ///< whether the block's axes are z, x, y; else they are x, y, z

  SLIP_FN std::int32_t wave(int axis, std::int32_t place) const {
    const std::int32_t index = first[axis] + place, n = cells[axis];
    return 2 * index > n ? index - n : index;
  }
  SLIP_FN bool used(int axis, std::int32_t k) const { return k <= highest[axis] && -k <= highest[axis]; }
  SLIP_FN bool used(const Mode& mode) const { return used(0, mode.x) && used(1, mode.y) && used(2, mode.z); }
  /// The mode at position (i, j, k) along the axes of the block.
  SLIP_FN Mode mode(std::int32_t i, std::int32_t j, std::int32_t k) const {
    return {wave(0, transposed ? j : i), wave(1, transposed ? k : j), wave(2, transposed ? i : k),
            (static_cast<std::int64_t>(k) * extent[1] + j) * extent[0] + i};
  }
  SLIP_FN std::int64_t volume() const { return static_cast<std::int64_t>(extent[0]) * extent[1] * extent[2]; }
};

/// Applies an operation and a factor to the Fourier modes of a block. Modes that are not used become zero.
template <class T, class F>
struct OnModes {
  ModeBlock block;
  F f;
  T factor;
  SLIP_FN Pair<T> operator()(const Pair<T>& value, int i, int j, int k) const {
    const Mode mode = block.mode(i, j, k);
    if (!block.used(mode)) return {T(0), T(0)};
    const Pair<T> changed = f(mode, value);
    return {changed.re * factor, changed.im * factor};
  }
};

}  // namespace slipstream::fft

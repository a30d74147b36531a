#include "solver/stencil/kernels.hpp"
#include "solver/stencil/marching.hpp"

namespace slipstream::stencil {
namespace {

template <class T, int radius>
struct Wave {
  static constexpr int threads = radius > 2 ? 512 : 256, tile = 32;
  const T* u;
  T* next;  // holds the u before
  const T* courant;
  Strides strides;
  StarWeights<T> weights;

  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = strides.at(i, j, k);
    const T* here = u + at;
    const T laplacian = star<radius>(weights, *here, [&](int axis, int d) { return here[d * strides.along(axis)]; });
    next[at] = leap(*here, next[at], courant[at], laplacian);
  }
  /// Keeps 2 radius + 1 values of the column.
  SLIP_FN void march(int i, int j, int first, int end) const {
    std::int64_t at = strides.at(i, j, first);
    T column[2 * radius + 1];
    for (int n = 0; n < 2 * radius; ++n) column[n + 1] = u[at + (n - radius) * strides.z];
    for (int k = first; k < end; ++k) {
      for (int n = 0; n < 2 * radius; ++n) column[n] = column[n + 1];
      column[2 * radius] = u[at + radius * strides.z];
      const T* here = u + at;
      const T laplacian = star<radius>(weights, column[radius], [&](int axis, int d) {
        return axis == 2 ? column[radius + d] : here[d * (axis == 0 ? strides.x : strides.y)];
      });
      next[at] = leap(column[radius], next[at], courant[at], laplacian);
      at += strides.z;
    }
  }
};

/// In the absorbing layer.
template <class T, int radius>
struct WaveBesideSides {
  BlockArrays block;
  StarWeights<T> weights;
  int layers;
  double damping;

  SLIP_FN double depth(int axis, int at) const {
    if (!block.open[axis]) return 0;
    const int there = block.low[axis] + at, beyond = block.cells[axis] - 1 - there;
    const int from_side = there < beyond ? there : beyond;
    return from_side < layers ? static_cast<double>(layers - from_side) / layers : 0;
  }
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = block.strides.at(i, j, k);
    const T* here = static_cast<const T*>(block.u) + at;
    T* const next = static_cast<T*>(block.next) + at;
    const T laplacian =
        star<radius>(weights, *here, [&](int axis, int d) { return here[d * block.strides.along(axis)]; });
    const double x = depth(0, i), y = depth(1, j), z = depth(2, k);
    const T s = static_cast<T>(damping * (x * x + y * y + z * z));
    *next = damped_leap(*here, *next, static_cast<const T*>(block.courant)[at], laplacian, s);
  }
};

template <class T, int radius>
void wave_of(Stream& stream, const Numbers& numbers, const BlockArrays& block, const Box& box, bool sides) {
  StarWeights<T> weights{};
  for (int n = 0; n <= most_radius; ++n) weights.of[n] = static_cast<T>(numbers.star.of[n]);
  if (sides) return launch(stream, box, WaveBesideSides<T, radius>{block, weights, numbers.layers, numbers.damping});
  launch_columns(stream, box,
                 Wave<T, radius>{static_cast<const T*>(block.u), static_cast<T*>(block.next),
                                 static_cast<const T*>(block.courant), block.strides, weights});
}

}  // namespace

template <class T>
void wave(Stream& stream, int radius, const Numbers& numbers, const BlockArrays& block, const Box& box, bool sides) {
  switch (radius) {
    case 1:
      return wave_of<T, 1>(stream, numbers, block, box, sides);
    case 2:
      return wave_of<T, 2>(stream, numbers, block, box, sides);
    case 3:
      return wave_of<T, 3>(stream, numbers, block, box, sides);
    default:
      return wave_of<T, 4>(stream, numbers, block, box, sides);
  }
}

template void wave<float>(Stream&, int, const Numbers&, const BlockArrays&, const Box&, bool);
template void wave<double>(Stream&, int, const Numbers&, const BlockArrays&, const Box&, bool);

}  // namespace slipstream::stencil

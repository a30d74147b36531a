#include "solver/stencil/columns.hpp"
#include "solver/stencil/kernels.hpp"

namespace slipstream::stencil {
inline namespace wave_kernels {

/// Updates cells in the absorbing layer, or with neighbours beyond a side: mirrored or periodic ones.
template <class T, int radius>
struct WaveNearSides {
  BlockArrays block;
  StarWeights<T> weights;
  Numbers numbers;

  SLIP_FN double depth(int axis, int at) const {
    return block.open[axis]
               ? layer_depth(block.low[axis] + at, block.cells[axis], numbers.layers[axis][0], numbers.layers[axis][1])
               : 0;
  }
  SLIP_FN T neighbour(const T* here, int axis, int at, int d) const {
    const std::int64_t stride = block.strides.along(axis);
    if (!block.open[axis]) return here[(block.turns.at(axis, at + d) - at) * stride];
    const int own = block.low[axis] + at;
    const Mirrored there = mirrored(own + d, block.cells[axis], numbers.even[axis]);
    return static_cast<T>(there.sign) * here[(there.cell - own) * stride];
  }
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = block.strides.at(i, j, k);
    const T* here = static_cast<const T*>(block.u) + at;
    T* const next = static_cast<T*>(block.next) + at;
    const int cell[3] = {i, j, k};
    const T laplacian =
        star<radius>(weights, *here, [&](int axis, int d) { return neighbour(here, axis, cell[axis], d); });
    const double x = depth(0, i), y = depth(1, j), z = depth(2, k);
    const T s = static_cast<T>(numbers.damping * (x * x + y * y + z * z));
    // Outside of the absorbing layer this is the undamped formula, so the bits equal those of the interior kernel.
    *next = s == 0 ? leap(*here, *next, static_cast<const T*>(block.courant)[at], laplacian)
                   : damped_leap(*here, *next, static_cast<const T*>(block.courant)[at], laplacian, s);
  }
};

template <class T, int radius>
void wave_of(Stream& stream, const Numbers& numbers, const BlockArrays& block, const Box& box, bool sides) {
  StarWeights<T> weights{};
  for (int n = 0; n <= most_radius; ++n) weights.of[n] = static_cast<T>(numbers.star.of[n]);
  if (sides) return launch(stream, box, WaveNearSides<T, radius>{block, weights, numbers});
  using Point = Propagate<T>;
  launch_columns(stream, box,
                 StarColumns<T, radius, Point>{static_cast<const T*>(block.u),
                                               block.strides,
                                               weights,
                                               block.turns,
                                               {static_cast<T*>(block.next), static_cast<const T*>(block.courant)}});
}

}  // namespace wave_kernels

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

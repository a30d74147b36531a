#include "solver/stencil/columns.hpp"
#include "solver/stencil/kernels.hpp"

namespace slipstream::stencil {
inline namespace heat_kernels {

template <class T>
struct HeatCube {
  const T* u;
  T* next;
  Strides strides;
  CubeWeights<T> weights;
  T rate;

  SLIP_FN void operator()(int i, int j, int k) const {
    const T* here = u + strides.at(i, j, k);
    const T laplacian =
        cube(weights, [&](int dx, int dy, int dz) { return here[dx * strides.x + dy * strides.y + dz * strides.z]; });
    next[strides.at(i, j, k)] = *here + rate * laplacian;
  }
};

/// Updates a cell by a step of the heat equation, where neighbours may lie across a periodic side.
template <class T>
struct HeatCubeTurning {
  HeatCube<T> cells;
  Turns turns;
  SLIP_FN void operator()(int i, int j, int k) const {
    std::int64_t x[3], y[3], z[3];
    for (int d = 0; d < 3; ++d) {
      x[d] = turns.at(0, i + d - 1) * cells.strides.x;
      y[d] = turns.at(1, j + d - 1) * cells.strides.y;
      z[d] = turns.at(2, k + d - 1) * cells.strides.z;
    }
    const T laplacian =
        cube(cells.weights, [&](int dx, int dy, int dz) { return cells.u[x[dx + 1] + y[dy + 1] + z[dz + 1]]; });
    const std::int64_t here = cells.strides.at(i, j, k);
    cells.next[here] = cells.u[here] + cells.rate * laplacian;
  }
};

/// Updates a cell at an insulated or periodic side. At an insulated one, a neighbour beyond has the value of the
/// outermost cell.
template <class T>
struct HeatNearSides {
  BlockArrays block;
  StarWeights<T> star_weights;
  CubeWeights<T> cube_weights;
  T rate;
  bool by_cube;
  Numbers numbers;

  SLIP_FN int inside(int axis, int at, int d) const {
    if (block.turns.cells[axis] > 0) return block.turns.at(axis, at + d);
    const int there = block.low[axis] + at + d;
    const bool beyond = block.open[axis] && (there < 0 || there >= block.cells[axis]);
    return beyond && numbers.even[axis][there < 0 ? 0 : 1] ? at : at + d;
  }
  SLIP_FN void operator()(int i, int j, int k) const {
    const T* const u = static_cast<const T*>(block.u);
    const std::int64_t here = block.strides.at(i, j, k);
    T laplacian;
    if (by_cube) {
      laplacian = cube(cube_weights, [&](int dx, int dy, int dz) {
        return u[block.strides.at(inside(0, i, dx), inside(1, j, dy), inside(2, k, dz))];
      });
    } else {
      laplacian = star<1>(star_weights, u[here], [&](int axis, int d) {
        return u[block.strides.at(axis == 0 ? inside(0, i, d) : i, axis == 1 ? inside(1, j, d) : j,
                                  axis == 2 ? inside(2, k, d) : k)];
      });
    }
    static_cast<T*>(block.next)[here] = u[here] + rate * laplacian;
  }
};

}  // namespace heat_kernels

template <class T>
void heat(Stream& stream, int points, const Numbers& numbers, const BlockArrays& block, const Box& box, bool sides) {
  StarWeights<T> star_weights{};
  CubeWeights<T> cube_weights{};
  for (int n = 0; n <= most_radius; ++n) star_weights.of[n] = static_cast<T>(numbers.star.of[n]);
  for (int n = 0; n < 4; ++n) cube_weights.of[n] = static_cast<T>(numbers.cube.of[n]);
  const T* const u = static_cast<const T*>(block.u);
  T* const next = static_cast<T*>(block.next);
  const T rate = static_cast<T>(numbers.rate);
  if (sides)
    return launch(stream, box, HeatNearSides<T>{block, star_weights, cube_weights, rate, points == 27, numbers});
  if (points == 27) {
    const HeatCube<T> cells{u, next, block.strides, cube_weights, rate};
    if (stream.device().backend == Backend::host) return launch_on_host(stream, box, cells);
    return launch_on_gpu(stream, box, HeatCubeTurning<T>{cells, block.turns});
  }
  launch_columns(stream, box, StarColumns<T, 1, Diffuse<T>>{u, block.strides, star_weights, block.turns, {next, rate}});
}

template void heat<float>(Stream&, int, const Numbers&, const BlockArrays&, const Box&, bool);
template void heat<double>(Stream&, int, const Numbers&, const BlockArrays&, const Box&, bool);

}  // namespace slipstream::stencil

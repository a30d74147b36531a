#include "solver/stencil/kernels.hpp"
#include "solver/stencil/marching.hpp"

namespace slipstream::stencil {
namespace {

template <class T>
struct HeatStar {
  static constexpr int threads = 256, tile = 256;
  const T* u;
  T* next;
  Strides strides;
  StarWeights<T> weights;
  T rate;

  SLIP_FN void operator()(int i, int j, int k) const {
    const T* here = u + strides.at(i, j, k);
    const T laplacian = star<1>(weights, *here, [&](int axis, int d) { return here[d * strides.along(axis)]; });
    next[strides.at(i, j, k)] = *here + rate * laplacian;
  }
  SLIP_FN void march(int i, int j, int first, int end) const {
    const T* here = u + strides.at(i, j, first);
    T* to = next + strides.at(i, j, first);
    T below = here[-strides.z], centre = *here;
    for (int k = first; k < end; ++k) {
      const T above = here[strides.z];
      const T laplacian = star<1>(weights, centre, [&](int axis, int d) {
        return axis == 2 ? (d < 0 ? below : above) : here[d * (axis == 0 ? strides.x : strides.y)];
      });
      *to = centre + rate * laplacian;
      below = centre;
      centre = above;
      here += strides.z;
      to += strides.z;
    }
  }
};

template <class T>
struct HeatCube {
  static constexpr int threads = 256, tile = 256;
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
  SLIP_FN void march(int i, int j, int first, int end) const {
    for (int k = first; k < end; ++k) (*this)(i, j, k);
  }
};

/// Of a cell at a side through which nothing flows: a neighbour beyond has the value of the outermost cell.
template <class T>
struct HeatBesideSides {
  BlockArrays block;
  StarWeights<T> star_weights;
  CubeWeights<T> cube_weights;
  T rate;
  bool by_cube;

  SLIP_FN int inside(int axis, int at, int d) const {
    const int there = block.low[axis] + at + d;
    return block.open[axis] && (there < 0 || there >= block.cells[axis]) ? at : at + d;
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

}  // namespace

template <class T>
void heat(Stream& stream, int points, const Numbers& numbers, const BlockArrays& block, const Box& box, bool sides) {
  StarWeights<T> star_weights{};
  CubeWeights<T> cube_weights{};
  for (int n = 0; n <= most_radius; ++n) star_weights.of[n] = static_cast<T>(numbers.star.of[n]);
  for (int n = 0; n < 4; ++n) cube_weights.of[n] = static_cast<T>(numbers.cube.of[n]);
  const T* const u = static_cast<const T*>(block.u);
  T* const next = static_cast<T*>(block.next);
  const T rate = static_cast<T>(numbers.rate);
  if (sides) return launch(stream, box, HeatBesideSides<T>{block, star_weights, cube_weights, rate, points == 27});
  if (points == 27) return launch_columns(stream, box, HeatCube<T>{u, next, block.strides, cube_weights, rate});
  launch_columns(stream, box, HeatStar<T>{u, next, block.strides, star_weights, rate});
}

template void heat<float>(Stream&, int, const Numbers&, const BlockArrays&, const Box&, bool);
template void heat<double>(Stream&, int, const Numbers&, const BlockArrays&, const Box&, bool);

}  // namespace slipstream::stencil

#pragma once
// Formulas for one cell, shared by all kernels. They add in one order, so all kernels give the same bits.
#include <cstdint>

#include <slipstream/device/function.hpp>

namespace slipstream::stencil {

constexpr int most_radius = 4;

/// Distances between a block's neighbouring cells in memory. Pointers to arrays are to the first interior cell.
struct Strides {
  std::int64_t x = 0, y = 0, z = 0;  ///< stride in values along an axis; 0 if the axis has one cell
  SLIP_FN std::int64_t at(int i, int j, int k) const { return i * x + j * y + k * z; }
  SLIP_FN std::int64_t along(int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
};

/// Wrapping along axes without ghosts. An entry is the number of cells of a periodic axis that the block holds as a
/// whole, else 0. Neighbours beyond a side are then cells at the other end.
struct Turns {
  int cells[3] = {0, 0, 0};
  SLIP_FN int at(int axis, int n) const {
    const int all = cells[axis];
    return n < 0 ? n + all : all > 0 && n >= all ? n - all : n;
  }
};

/// Interior cell that replaces one beyond a side of the domain (mirror boundary condition): its value times `sign`.
struct Mirrored {
  int cell, sign;
};
/// Finds the interior cell whose value, with a sign, replaces that of a cell `at` beyond a side of the domain. The
/// solution is odd about a fixed side, at the first centre beyond. It is even about a free side, at the last face.
SLIP_FN Mirrored mirrored(int at, int cells, const bool* free_ends) {
  if (at >= 0 && at < cells) return {at, 1};
  const bool free = free_ends[at < 0 ? 0 : 1];
  const int sum = at < 0 ? (free ? -1 : -2) : 2 * cells - (free ? 1 : 0);
  return {sum - at, free ? 1 : sum == 2 * at ? 0 : -1};
}

/// Depth of a cell in the absorbing layers at the low and the high end of an axis: 0 at the inner edge, 1 at the side.
SLIP_FN double layer_depth(int at, int cells, int low, int high) {
  const int beyond = cells - 1 - at;
  const double in_low = at < low ? static_cast<double>(low - at) / low : 0;
  const double in_high = beyond < high ? static_cast<double>(high - beyond) / high : 0;
  return in_low > in_high ? in_low : in_high;
}

/// Weights of a central second difference: the centre's for all three axes together, then those by distance.
template <class T>
struct StarWeights {
  T of[most_radius + 1];
};

/// Returns spacing^2 Lap u by a star stencil; get(axis, distance) returns u of a neighbour.
template <int radius, class T, class Get>
SLIP_FN T star(const StarWeights<T>& weights, T centre, Get get) {
  T sum = weights.of[0] * centre;
  for (int r = 1; r <= radius; ++r)
    sum += weights.of[r] * ((get(0, -r) + get(0, r)) + (get(1, -r) + get(1, r)) + (get(2, -r) + get(2, r)));
  return sum;
}

/// Weights of the cube of 27 cells by the number of axes along which a neighbour differs.
template <class T>
struct CubeWeights {
  T of[4];
};

/// Returns spacing^2 Lap u by a stencil of 27 cells; get(dx, dy, dz) returns u of a neighbour.
template <class T, class Get>
SLIP_FN T cube(const CubeWeights<T>& weights, Get get) {
  T by_kind[4] = {0, 0, 0, 0};
  for (int n = 0; n < 27; ++n) {
    const int dx = n % 3 - 1, dy = n / 3 % 3 - 1, dz = n / 9 - 1;
    by_kind[dx * dx + dy * dy + dz * dz] += get(dx, dy, dz);
  }
  return (weights.of[0] * by_kind[0] + weights.of[1] * by_kind[1]) +
         (weights.of[2] * by_kind[2] + weights.of[3] * by_kind[3]);
}

/// Returns u of the next step of a wave: 2 u - before + courant^2 Lap u.
template <class T>
SLIP_FN T leap(T u, T before, T courant2, T laplacian) {
  return (u + (u - before)) + courant2 * laplacian;
}
/// Returns u of the next step of a damped wave, with s = sigma time_step / 2.
template <class T>
SLIP_FN T damped_leap(T u, T before, T courant2, T laplacian, T s) {
  return ((u + (u - before)) + s * before + courant2 * laplacian) / (T(1) + s);
}

}  // namespace slipstream::stencil

#pragma once
// Addresses of a cell and of its neighbours, for kernels.
#include <cstdint>
#include <utility>

#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/lattice/lattice.hpp"

namespace slipstream::lbm {

/// Swaps x and z of a box and of a block's arrays, for kernels on rows along z.
inline Box along_z(const Box& box) { return {by_rows(Layout::soa_z, box.lo), by_rows(Layout::soa_z, box.hi)}; }
inline BlockArrays along_z(BlockArrays b) {
  for (BlockData* place : {&b.populations, &b.populations_out, &b.flags}) {
    BlockShape& shape = place->shape;
    shape.extent = by_rows(Layout::soa_z, shape.extent);
    shape.ghost = by_rows(Layout::soa_z, shape.ghost);
    std::swap(shape.stride[0], shape.stride[2]);
    shape.row_axis = 0;
  }
  std::swap(b.wrap.extent[0], b.wrap.extent[2]);
  constexpr int x = 3, y = 12;  // bits of the two sides across x, and across y, in a mask of sides
  b.walls = static_cast<std::uint8_t>((b.walls & x) << 4 | (b.walls & y) | b.walls >> 4);
  return b;
}

/// Knowledge at compile time of strides: `soa`, neighbours in x are neighbours in memory; `any`, nothing is known.
enum class Strides : std::uint8_t { soa, any };

template <class L, class T, Strides strides>
struct Access {
  T* origin;
  std::int64_t cell, row, plane, component;

  explicit Access(const BlockData& place)
      : origin(reinterpret_cast<T*>(place.origin)),
        cell(place.shape.stride[0]),
        row(place.shape.stride[1]),
        plane(place.shape.stride[2]),
        component(place.shape.component_stride) {}
  SLIP_FN std::int64_t at(int i, int j, int k) const {
    return i * (strides == Strides::any ? cell : 1) + j * row + k * plane;
  }
  template <int q>
  SLIP_FN T* population() const {
    return origin + q * component;
  }
};

/// Distances in elements from a cell to its neighbours below and above on one axis. Where a block spans a periodic axis
/// it is its own neighbour: steps then wrap, and no ghosts are stored or exchanged.
struct Step {
  std::int64_t below, above;
  SLIP_FN Step(std::int64_t stride, int at, int wrapped_extent)
      : below(wrapped_extent > 0 && at == 0 ? (wrapped_extent - 1) * stride : -stride),
        above(wrapped_extent > 0 && at == wrapped_extent - 1 ? (1 - wrapped_extent) * stride : stride) {}
};

/// Distances from a row of cells to its neighbours in y and z. Along x only special kernels wrap, because wrapping
/// prevents vectorisation.
template <class L>
struct Steps {
  Step y, z;
  /// Offset from a cell to the cell from which population q comes.
  template <int q>
  SLIP_FN std::int64_t upstream(const Step& x) const {
    constexpr int cx = L::velocity[q][0], cy = L::velocity[q][1], cz = L::velocity[q][2];
    return (cx == 0  ? 0
            : cx > 0 ? x.below
                     : x.above) +
           (cy == 0  ? 0
            : cy > 0 ? y.below
                     : y.above) +
           (cz == 0  ? 0
            : cz > 0 ? z.below
                     : z.above);
  }
};

template <class T>
struct Scalars {
  T* origin = nullptr;
  std::int64_t cell = 1, row = 0, plane = 0, component = 0;
  Scalars() = default;
  explicit Scalars(const BlockData& place)
      : origin(reinterpret_cast<T*>(place.origin)),
        cell(place.shape.stride[0]),
        row(place.shape.stride[1]),
        plane(place.shape.stride[2]),
        component(place.shape.component_stride) {}
  SLIP_FN std::int64_t at(int i, int j, int k) const { return i * cell + j * row + k * plane; }
};

}  // namespace slipstream::lbm

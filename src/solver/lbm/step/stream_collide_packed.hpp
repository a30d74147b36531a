#pragma once
// Update of a cell in a packed block, which finds neighbours by their numbers. For D3Q19 that takes nine words of 8
// bytes, which adjacent cells share, in addition to 152 bytes of populations. At resting walls it reads the populations
// that the cell sent. A separate copy would access a sector or two for each link, which costs half as much as the step
// in a packing of spheres.
#include "solver/lbm/links/link_kernels.hpp"
#include "solver/lbm/step/stream_collide.hpp"

namespace slipstream::lbm {

/// Updates the cells of a list as StreamCollide does, to the last bit.
template <class L, class S, bool in_place, class Collision>
struct StreamCollidePacked {
  using Word = typename S::Word;
  using T = typename S::Number;
  const Word* in;
  Word* out;
  std::int64_t cell, component;  ///< strides in the array from cell to cell, from component to component
  Numbering numbering;
  Wrap wrap;
  std::int64_t turn;  ///< in-place steps that store opposite populations swapped: stride between populations; else 0
  const std::uint32_t* cells;
  std::uint32_t wide, high;  ///< extent of the block along x and y
  Collision collision;

  /// Coordinate of the cell from which a population comes: `at` minus a component of the velocity, wrapped if periodic.
  SLIP_FN std::int32_t behind(std::int32_t at, int part, int axis) const {
    const std::int32_t n = at - part, extent = wrap.extent[axis];
    return extent == 0 ? n : n < 0 ? n + extent : n >= extent ? n - extent : n;
  }

  /// Finds the storage indices of upstream cells. The index before a known one belongs to the cell before, the index
  /// after it to the next cell, if that is stored. So one word of the numbering serves up to three cells of a row.
  SLIP_FN void upstream(std::int32_t x, std::int32_t y, std::int32_t z, std::uint32_t (&from)[L::q]) const {
    const std::int32_t end = wrap.extent[0];
    unrolled<0, 9>([&](auto row) {
      constexpr int cy = row() % 3 - 1, cz = row() / 3 - 1;
      if constexpr (L::dimensions == 3 || cz == 0) {
        const std::int32_t j = behind(y, cy, 1), k = behind(z, cz, 2);
        const Numbering::Found here = numbering.find(x, j, k);
        unrolled<0, L::q>([&](auto q) {
          constexpr int cx = L::velocity[q()][0];
          if constexpr (L::velocity[q()][1] == cy && L::velocity[q()][2] == cz) {
            if constexpr (cx == 0) from[q()] = here.number;
            if constexpr (cx > 0)
              from[q()] = end > 0 && x == 0 ? numbering.find(end - 1, j, k).number : here.number - 1;
            if constexpr (cx < 0)
              from[q()] = end > 0 && x == end - 1 ? numbering.find(0, j, k).number : here.number + here.stored;
          }
        });
      }
    });
  }

  /// Element of population q that comes in from a fluid cell.
  template <int q>
  SLIP_FN std::int64_t incoming(const std::uint32_t (&from)[L::q]) const {
    return place<q>(from, turn);
  }
  /// Array index at which the step reads population q. If it comes back from a wall, this is what the cell itself sent.
  /// With in-place streaming, that lies where the other of two alternating steps reads q from a fluid cell.
  template <int q>
  SLIP_FN std::int64_t read_at(const std::uint32_t (&from)[L::q], std::uint32_t walls) const {
    const bool wall = (walls >> q & 1u) != 0;
    if constexpr (q == 0) return incoming<0>(from);
    if constexpr (in_place) return place<q>(from, wall ? component - turn : turn);
    return wall ? opposite_of(q) * component + from[0] * cell : incoming<q>(from);
  }
  template <int q>
  SLIP_FN std::int64_t place(const std::uint32_t (&from)[L::q], std::int64_t turned) const {
    if constexpr (!in_place || q == 0) return q * component + from[q] * cell;
    if constexpr (q % 2 == 1) return q * component + from[0] * cell + turned;
    return q * component + from[q] * cell - turned;
  }

  SLIP_FN void operator()(std::int64_t n) const {
    ListedCell listed;
    if (!CellGroups<L::q>::find(cells, n, listed)) return;
    const std::uint32_t number = listed.number, line = number / wide;
    std::uint32_t from[L::q];
    upstream(static_cast<std::int32_t>(number - line * wide), static_cast<std::int32_t>(line % high),
             static_cast<std::int32_t>(line / high), from);
    T g[L::q];
    unrolled<0, L::q>([&](auto q) { g[q()] = S::load(in[read_at<q()>(from, listed.walls)]); });
    collision(g);
    const typename S::Rounding rounded(g[0]);
    unrolled<0, L::q>([&](auto q) {
      const std::int64_t there = in_place ? incoming<opposite_of(q())>(from) : q() * component + from[0] * cell;
      out[there] = rounded(g[q()]);
    });
  }
};

template <class L, class S, bool in_place, class Collision>
void launch_packed_step(Stream& stream, const BlockArrays& b, const Collision& collision) {
  using Word = typename S::Word;
  const BlockShape& shape = b.populations.shape;
  launch_per_link(
      stream, CellGroups<L::q>::cells(static_cast<std::int64_t>(b.cells.size())),
      StreamCollidePacked<L, S, in_place, Collision>{
          reinterpret_cast<const Word*>(b.populations.origin),
          reinterpret_cast<Word*>(in_place ? b.populations.origin : b.populations_out.origin), shape.stride[0],
          shape.component_stride, b.numbering, b.wrap, b.form == Form::turned ? shape.component_stride : 0,
          b.cells.data(), static_cast<std::uint32_t>(shape.extent[0]), static_cast<std::uint32_t>(shape.extent[1]),
          collision});
}

}  // namespace slipstream::lbm

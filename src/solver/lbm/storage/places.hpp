#pragma once
// Positions of populations in arrays between two steps: the interface of streaming patterns for boundaries.
#include <cstdint>

#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/lattice/lattice.hpp"

namespace slipstream::lbm {

template <class L>
constexpr Heading heading_of(int i) {
  return {static_cast<std::uint8_t>(i), static_cast<std::int8_t>(L::velocity[i][0]),
          static_cast<std::int8_t>(L::velocity[i][1]), static_cast<std::int8_t>(L::velocity[i][2])};
}

/// Packs one component of all lattice velocities, plus 1, into two bits each.
template <class L>
constexpr std::uint64_t velocity_bits(int axis) {
  std::uint64_t bits = 0;
  for (int i = 0; i < L::q; ++i) bits |= static_cast<std::uint64_t>(L::velocity[i][axis] + 1) << (2 * i);
  return bits;
}
/// Velocities of a lattice that is chosen at run time.
struct Headings {
  std::uint64_t x, y, z;  ///< x, y and z components, plus 1, of all lattice velocities, in two bits each
  int count;
  SLIP_FN Heading operator[](int i) const {
    const auto part = [i](std::uint64_t bits) {
      return static_cast<std::int8_t>(static_cast<int>(bits >> (2 * i) & 3) - 1);
    };
    return {static_cast<std::uint8_t>(i), part(x), part(y), part(z)};
  }
};
template <class L>
constexpr Headings headings_of() {
  return {velocity_bits<L>(0), velocity_bits<L>(1), velocity_bits<L>(2), L::q};
}
/// Velocity of a population whose index is known at run time only.
template <class L>
SLIP_FN Heading heading_at(int i) {
  constexpr Headings all = headings_of<L>();
  return Headings(all)[i];
}

SLIP_FN Heading opposite(const Heading& h) {
  const int i = h.i == 0 ? 0 : h.i % 2 == 1 ? h.i + 1 : h.i - 1;
  return {static_cast<std::uint8_t>(i), static_cast<std::int8_t>(-h.x), static_cast<std::int8_t>(-h.y),
          static_cast<std::int8_t>(-h.z)};
}

/// Elements from interior cell (0, 0, 0) of component 0 to the populations of a block.
///
/// `outgoing(x, i)` is where a fluid cell left its population i at its last collision, `incoming(x, i)` where its next
/// step reads population i. Without a wall between cells, x reads the population that x - c_i left: incoming(x, i) =
/// outgoing(x - c_i, i), across blocks after the exchange. A boundary writes another value to incoming(x, i). It is
/// computed from outgoing populations of x, which are ready before the exchange. It may also need incoming(x, j) from
/// other fluid cells, or populations from a neighbour towards x, which may arrive later.
///
/// In a packed block only stored cells have places.
///
/// In every form a place belongs to one population of one cell. So a place that a boundary writes, as coming from a
/// wall, is never one that another boundary reads as sent by a fluid cell.
struct Places {
  std::int64_t stride[3], component;
  Wrap wrap;
  Form form;
  Numbering numbering;

  explicit Places(const BlockArrays& block) : Places(block, block.form) {}
  Places(const BlockArrays& block, Form form)
      : stride{block.populations.shape.stride[0], block.populations.shape.stride[1], block.populations.shape.stride[2]},
        component(block.populations.shape.component_stride),
        wrap(block.wrap),
        form(form),
        numbering(block.numbering) {}

  SLIP_FN std::int64_t outgoing(const Cell& at, const Heading& h) const {
    return form == Form::apart || h.i % 2 == 0 ? element(at, h) : element(behind(at, opposite(h)), h);
  }
  SLIP_FN std::int64_t incoming(const Cell& at, const Heading& h) const {
    return form == Form::apart || h.i % 2 == 0 ? element(behind(at, h), h) : element(at, h);
  }
  /// Index of a cell's component 0 in the block's array.
  SLIP_FN std::int64_t element(const Cell& at) const {
    if (numbering.words != nullptr) return numbering.find(at.x, at.y, at.z).number * stride[0];
    return at.x * stride[0] + at.y * stride[1] + at.z * stride[2];
  }
  /// The cell from which a population comes: the cell minus a velocity.
  SLIP_FN Cell behind(const Cell& at, const Heading& h) const {
    return {behind(at.x, h.x, 0), behind(at.y, h.y, 1), behind(at.z, h.z, 2)};
  }

 private:
  SLIP_FN std::int64_t element(const Cell& at, const Heading& h) const {
    return (form == Form::turned ? opposite(h).i : h.i) * component + element(at);
  }
  /// A coordinate minus one velocity component, wrapped if the block is its own periodic neighbour.
  SLIP_FN std::int32_t behind(std::int32_t at, int part, int axis) const {
    const std::int32_t n = at - part, extent = wrap.extent[axis];
    return extent == 0 ? n : n < 0 ? n + extent : n >= extent ? n - extent : n;
  }
};

}  // namespace slipstream::lbm

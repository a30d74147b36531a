#pragma once
// The ten moments of a block's cells in memory, and what boundaries and readings see through them.
#include "solver/lbm/by_moments/side_walls.hpp"
#include "solver/lbm/by_moments/ten_moments.hpp"
#include "solver/lbm/moments.hpp"
#include "solver/lbm/step/kernels.hpp"
#include "solver/lbm/storage/access.hpp"
#include "solver/lbm/storage/places.hpp"
#include "solver/lbm/storage/storage.hpp"

namespace slipstream::lbm {

template <class T>
struct StoredMoments {
  using Word = T;
  using Number = T;
  template <int n>
  static SLIP_FN T load(Word word) {
    return word;
  }
  struct Rounding {
    explicit SLIP_FN Rounding(const TenMoments<T>&) {}
    template <int n>
    SLIP_FN Word store(T number) const {
      return number;
    }
  };
};

/// 16 bits, each moment scaled by a power of two to its own range: an excess of density below 2, a momentum below 1, a
/// tensor below 1/2. Rounded by chance, as populations are (DitheredHalf), drawn from the density and the momentum.
struct StoredMomentsF16 {
  using Word = Half;
  using Number = float;
  static constexpr float unit(int n) { return n == 0 ? 32768.0f : n < 4 ? 65536.0f : 131072.0f; }
  template <int n>
  static SLIP_FN float load(Word word) {
    constexpr float scale = 1.0f / unit(n);
    return float_of(word) * scale;
  }
  struct Rounding {
    DitheredHalf half;
    explicit SLIP_FN Rounding(const TenMoments<float>& m) : half(m.excess + 3.0f * (m.x + m.y + m.z)) {}
    template <int n>
    SLIP_FN Word store(float number) const {
      constexpr float scale = unit(n);
      return half(number * scale);
    }
  };
};

/// The moments of a cell, and where the others lie from the first: in the order of TenMoments.
template <class S>
SLIP_FN TenMoments<typename S::Number> load_moments(const typename S::Word* at, std::int64_t component) {
  return {S::template load<0>(at[0]),
          S::template load<1>(at[component]),
          S::template load<2>(at[2 * component]),
          S::template load<3>(at[3 * component]),
          S::template load<4>(at[4 * component]),
          S::template load<5>(at[5 * component]),
          S::template load<6>(at[6 * component]),
          S::template load<7>(at[7 * component]),
          S::template load<8>(at[8 * component]),
          S::template load<9>(at[9 * component])};
}
template <class S>
SLIP_FN void store_moments(typename S::Word* at, std::int64_t component, const TenMoments<typename S::Number>& m) {
  const typename S::Rounding rounded(m);
  at[0] = rounded.template store<0>(m.excess);
  at[component] = rounded.template store<1>(m.x);
  at[2 * component] = rounded.template store<2>(m.y);
  at[3 * component] = rounded.template store<3>(m.z);
  at[4 * component] = rounded.template store<4>(m.xx);
  at[5 * component] = rounded.template store<5>(m.yy);
  at[6 * component] = rounded.template store<6>(m.zz);
  at[7 * component] = rounded.template store<7>(m.xy);
  at[8 * component] = rounded.template store<8>(m.xz);
  at[9 * component] = rounded.template store<9>(m.yz);
}

/// `S`: how they are stored. Moments are those that a cell left when it last collided.
template <class S>
struct MomentCells {
  using Lattice = D3Q19;
  using Number = typename S::Number;
  using Word = typename S::Word;
  using Ten = TenMoments<Number>;
  Word* origin;
  std::int64_t row, plane, component;
  Wrap wrap;
  bool recursive;
  SideWalls walls;
  BoundaryArrays boundary;

  explicit MomentCells(const BlockArrays& b)
      : origin(reinterpret_cast<Word*>(b.populations.origin)),
        row(b.populations.shape.stride[1]),
        plane(b.populations.shape.stride[2]),
        component(b.populations.shape.component_stride),
        wrap(b.wrap),
        recursive(b.recursive),
        walls(b),
        boundary(b.boundary) {}

  SLIP_FN std::int64_t at(const Cell& cell) const { return cell.x + cell.y * row + cell.z * plane; }
  SLIP_FN Ten load(std::int64_t element) const { return load_moments<S>(origin + element, component); }
  SLIP_FN Sending<Number> sending(const Cell& cell) const { return {load(at(cell)), recursive}; }

  template <int i>
  SLIP_FN Number sent(const Cell& cell) const {
    return sending(cell).template population<i>();
  }
  SLIP_FN Number sent(const Cell& cell, const Heading& h) const {
    const Sending<Number> s = sending(cell);
    Number found = 0;
    unrolled<0, D3Q19::q>([&](auto i) {
      if (h.i == i()) found = s.template population<i()>();
    });
    return found;
  }
  /// A population comes from a fluid cell, from a wall, or a link has brought it.
  SLIP_FN Number comes(const Cell& cell, const Heading& h) const {
    const BoundaryCell beside = boundary_at(cell);
    if (beside.arrivals >= 0) return arrivals()[h.i * boundary.count + beside.arrivals];
    const bool back = (beside.resting >> h.i & 1u) != 0 || SideWalls::out_of(walls.beside(cell.x, cell.y, cell.z), h);
    return sent(back ? cell : behind(cell, h), back ? opposite(h) : h);
  }
  /// To a cell that links bring populations to.
  SLIP_FN void bring(const Cell& cell, const Heading& h, Number number) const {
    const BoundaryCell& beside = boundary.cells[boundary.numbering.find(cell.x, cell.y, cell.z).number];
    arrivals()[h.i * boundary.count + beside.arrivals] = number;
  }
  SLIP_FN void all_coming(const Cell& cell, Number (&g)[D3Q19::q]) const {
    const BoundaryCell beside = boundary_at(cell);
    if (beside.arrivals < 0) return gather(cell, beside.resting, walls.beside(cell.x, cell.y, cell.z), g);
    unrolled<0, D3Q19::q>([&](auto i) { g[i()] = arrivals()[i() * boundary.count + beside.arrivals]; });
  }
  SLIP_FN Moments<Number> moments_of(const Cell& cell) const {
    const std::int64_t element = at(cell);
    const auto part = [&](auto n) { return S::template load<n()>(origin[element + n() * component]); };
    return {part(std::integral_constant<int, 0>{}), part(std::integral_constant<int, 1>{}),
            part(std::integral_constant<int, 2>{}), part(std::integral_constant<int, 3>{})};
  }

  /// What its neighbours sent; from walls at rest (bits of `resting`) what it sent itself, and from those at sides
  /// `beside` it. Where a link brings something else, and cells beyond sides hold nothing, what is found
  /// here means nothing.
  SLIP_FN void gather(const Cell& cell, std::uint32_t resting, unsigned beside, Number (&g)[D3Q19::q]) const {
    const Sending<Number> own = sending(cell);
    unrolled<0, D3Q19::q>([&](auto i) {
      constexpr Heading h = heading_of<D3Q19>(i());
      if constexpr (i() == 0) {
        g[0] = own.template population<0>();
      } else if ((resting >> i() & 1u) != 0 || SideWalls::out_of(beside, h)) {
        g[i()] = own.template population<opposite_of(i())>();
      } else {
        g[i()] = sent<i()>(behind(cell, h));
      }
    });
  }
  SLIP_FN Number* arrivals() const { return static_cast<Number*>(boundary.arrivals); }

  /// What is known of a cell; of one that lies beside nothing, nothing.
  SLIP_FN BoundaryCell boundary_at(const Cell& cell) const {
    if (boundary.cells == nullptr) return {};
    const auto found = boundary.numbering.find(cell.x, cell.y, cell.z);
    return found.stored ? boundary.cells[found.number] : BoundaryCell{};
  }
  SLIP_FN Cell behind(const Cell& cell, const Heading& h) const {
    return {wrapped(cell.x - h.x, 0), wrapped(cell.y - h.y, 1), wrapped(cell.z - h.z, 2)};
  }
  SLIP_FN std::int32_t wrapped(std::int32_t p, int axis) const {
    const std::int32_t extent = wrap.extent[axis];
    return extent == 0 ? p : p < 0 ? p + extent : p >= extent ? p - extent : p;
  }
};

}  // namespace slipstream::lbm

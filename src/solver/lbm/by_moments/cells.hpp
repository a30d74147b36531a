#pragma once
// Storage of the ten moments of a block's cells, and access to populations for boundaries and output.
#include "solver/lbm/by_moments/side_walls.hpp"
#include "solver/lbm/by_moments/ten_moments.hpp"
#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/lattice/moments.hpp"
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
  static SLIP_FN T seed(std::uint32_t) { return 0; }
  struct Rounding {
    explicit SLIP_FN Rounding(const TenMoments<T>&, std::uint32_t = 0) {}
    template <int n>
    SLIP_FN Word store(T number) const {
      return number;
    }
  };
};

/// Ten moments of a cell in 16 bits, each scaled by a power of two. The density's excess is below 2, a momentum below
/// 1, a second-order moment below 1/2. Rounding is stochastic, with random bits of the population of zero velocity.
struct StoredMomentsF16 {
  using Word = Half;
  using Number = float;
  static constexpr float unit(int n) { return n == 0 ? 32768.0f : n < 4 ? 65536.0f : 131072.0f; }
  template <int n>
  static SLIP_FN float load(Word word) {
    constexpr float scale = 1.0f / unit(n);
    return float_of(word) * scale;
  }
  /// Small random density that a start adds to a cell: an odd multiple of half the least unit, by up to 1023, positive
  /// or negative.
  static SLIP_FN float seed(std::uint32_t chance) {
    constexpr float least = 0x1p-24f / unit(0);
    return static_cast<float>(2 * static_cast<int>(chance >> 22) - 1023) * least;
  }
  struct Rounding {
    DitheredHalf half;
    explicit SLIP_FN Rounding(const TenMoments<float>& m, std::uint32_t chance = 0) : half(m.resting(), chance) {}
    template <int n>
    SLIP_FN Word store(float number) const {
      constexpr float scale = unit(n);
      return half(number * scale);
    }
  };
};

template <int n>
using Nth = std::integral_constant<int, n>;
/// Converts between words and moments, in the order of TenMoments. word(n) returns the n-th word, put(n, word) receives
/// it.
template <class S, class F>
SLIP_FN TenMoments<typename S::Number> moments_of_words(const F& word) {
  const auto part = [&](auto n) { return S::template load<n()>(word(n)); };
  return {part(Nth<0>{}), part(Nth<1>{}), part(Nth<2>{}), part(Nth<3>{}), part(Nth<4>{}),
          part(Nth<5>{}), part(Nth<6>{}), part(Nth<7>{}), part(Nth<8>{}), part(Nth<9>{})};
}
template <class S, class F>
SLIP_FN void words_of_moments(const TenMoments<typename S::Number>& m, const F& put, std::uint32_t chance = 0) {
  const typename S::Rounding rounded(m, chance);
  const auto part = [&](auto n, typename S::Number value) { put(n, rounded.template store<n()>(value)); };
  part(Nth<0>{}, m.excess);
  part(Nth<1>{}, m.x);
  part(Nth<2>{}, m.y);
  part(Nth<3>{}, m.z);
  part(Nth<4>{}, m.xx);
  part(Nth<5>{}, m.yy);
  part(Nth<6>{}, m.zz);
  part(Nth<7>{}, m.xy);
  part(Nth<8>{}, m.xz);
  part(Nth<9>{}, m.yz);
}
/// Loads or stores the ten moments of a cell, the first of which lies at `at`. `chance`: additional random bits for
/// rounding.
template <class S>
SLIP_FN TenMoments<typename S::Number> load_moments(const typename S::Word* at, std::int64_t component) {
  return moments_of_words<S>([&](auto n) { return at[n() * component]; });
}
template <class S>
SLIP_FN void store_moments(typename S::Word* at, std::int64_t component, const TenMoments<typename S::Number>& m,
                           std::uint32_t chance = 0) {
  words_of_moments<S>(
      m, [&](auto n, typename S::Word word) { at[n() * component] = word; }, chance);
}

/// Moments of adjacent cells along x; the words of a moment are loaded and stored at once.
template <class S, int lanes>
struct TenWords {
  using T = typename S::Number;
  using Word = typename S::Word;
  struct alignas(lanes * sizeof(Word)) Words {
    Word of[lanes];
  };
  Words words[10];

  SLIP_FN void load(const Word* at, std::int64_t component) {
    unrolled<0, 10>([&](auto n) { words[n()] = *reinterpret_cast<const Words*>(at + n() * component); });
  }
  SLIP_FN void store(Word* at, std::int64_t component) const {
    unrolled<0, 10>([&](auto n) { *reinterpret_cast<Words*>(at + n() * component) = words[n()]; });
  }
  template <int lane>
  SLIP_FN void load_one(const Word* at, std::int64_t component) {
    unrolled<0, 10>([&](auto n) { words[n()].of[lane] = at[n() * component]; });
  }
  template <int lane>
  SLIP_FN void store_one(Word* at, std::int64_t component) const {
    unrolled<0, 10>([&](auto n) { at[n() * component] = words[n()].of[lane]; });
  }
  template <int lane>
  SLIP_FN TenMoments<T> moments() const {
    return moments_of_words<S>([&](auto n) { return words[n()].of[lane]; });
  }
  template <int lane>
  SLIP_FN void set(const TenMoments<T>& m) {
    words_of_moments<S>(m, [&](auto n, Word word) { words[n()].of[lane] = word; });
  }
};

/// Storage of moments; `S` is their format in memory. A cell has the moments that its last collision left.
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
  /// Returns the population that a cell receives: from a fluid cell, from a wall, or from a link.
  SLIP_FN Number comes(const Cell& cell, const Heading& h) const {
    const BoundaryCell beside = boundary_at(cell);
    if (beside.arrivals >= 0) return arrivals()[h.i * boundary.count + beside.arrivals];
    const bool back = (beside.resting >> h.i & 1u) != 0 || SideWalls::out_of(walls.beside(cell.x, cell.y, cell.z), h);
    return sent(back ? cell : behind(cell, h), back ? opposite(h) : h);
  }
  /// Stores an incoming population of a cell whose populations come from links.
  SLIP_FN void bring(const Cell& cell, const Heading& h, Number number) const {
    const BoundaryCell& beside = boundary.cells[boundary.numbering.find(cell.x, cell.y, cell.z).number];
    arrivals()[h.i * boundary.count + beside.arrivals] = number;
  }
  /// Sets a cell's incoming population i, for each bit i set in `in`, by a function of two populations on its axis.
  template <class F>
  SLIP_FN void bring_each(const Cell& cell, std::uint32_t in, std::uint32_t near, const F& f) const {
    const Sending<Number> own = sending(cell);
    Number* const arriving = arrivals() + boundary_at(cell).arrivals;
    unrolled<1, D3Q19::q>([&](auto i) {
      constexpr int out = opposite_of(i());
      if ((in >> i() & 1u) == 0) return;
      const Number second = (near >> i() & 1u) != 0 ? arriving[out * boundary.count] : own.template population<i()>();
      arriving[i() * boundary.count] = f(own.template population<out>(), second);
    });
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

  /// Gathers the populations that arrive in a cell from its neighbours. Those from walls at rest (bits of `resting`,
  /// and sides in `beside`) are the cell's own, reflected. A population that comes from another kind of boundary is
  /// undefined, unless the cells beyond the side store moments.
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

  /// Boundary data of a cell; empty for cells without boundaries next to them.
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

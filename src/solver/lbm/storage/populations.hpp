#pragma once
// Access to the outgoing and incoming populations of a block's cells, for boundaries and output. Each representation of
// the state offers these functions; links, loads and sums use no others.
#include "device/rolled.hpp"
#include "solver/lbm/lattice/moments.hpp"
#include "solver/lbm/storage/access.hpp"
#include "solver/lbm/storage/places.hpp"
#include "solver/lbm/storage/storage.hpp"

namespace slipstream::lbm {

/// Access to single populations of a cell, at the positions that Places gives, for any lattice.
template <class S>
struct StoredPopulations {
  using Number = typename S::Number;
  using Word = typename S::Word;
  Word* origin;
  Places places;

  explicit StoredPopulations(const BlockArrays& b) : origin(reinterpret_cast<Word*>(b.populations.origin)), places(b) {}

  SLIP_FN Number sent(const Cell& cell, const Heading& h) const { return S::load(origin[places.outgoing(cell, h)]); }
  SLIP_FN Number comes(const Cell& cell, const Heading& h) const { return S::load(origin[places.incoming(cell, h)]); }
  /// Stores a population, rounded stochastically like those of a step: repeated small additions would drift or vanish
  /// under rounding to the nearest. Random bits come from the number and from the cell's population at rest, which lies
  /// in the cell in every form until the cell steps.
  SLIP_FN void bring(const Cell& cell, const Heading& h, Number number) const {
    origin[places.incoming(cell, h)] = typename S::Rounding(sent(cell, Heading{}) * number)(number);
  }
};

/// Access to populations for links whose lattice is chosen at run time, so that one kernel serves all.
template <class S>
struct AnyPopulations : StoredPopulations<S> {
  using Number = typename S::Number;
  Headings headings;

  AnyPopulations(const BlockArrays& b, const Headings& headings) : StoredPopulations<S>(b), headings(headings) {}

  /// Sets each population returned by a body (bits of `in`) to an interpolation f of two populations of the cell.
  template <class F>
  SLIP_FN void bring_each(const Cell& cell, std::uint32_t in, std::uint32_t near, const F& f) const {
    SLIP_ROLLED
    for (int q = 1; q < headings.count; ++q) {
      if ((in >> q & 1u) == 0) continue;
      const Heading h = headings[q], out = opposite(h);
      this->bring(cell, h,
                  f(this->sent(cell, out), (near >> q & 1u) != 0 ? this->comes(cell, out) : this->sent(cell, h)));
    }
  }
};

/// Access to all populations of a cell, for a lattice that is known at compile time.
template <class L, class S>
struct Populations : StoredPopulations<S> {
  using Lattice = L;
  using Number = typename S::Number;
  using StoredPopulations<S>::origin, StoredPopulations<S>::places;
  using StoredPopulations<S>::StoredPopulations;

  /// Loads all outgoing populations of a cell.
  SLIP_FN void all_sent(const Cell& cell, Number (&g)[L::q]) const { all<false>(cell, g); }
  /// Loads all incoming populations of a cell.
  SLIP_FN void all_coming(const Cell& cell, Number (&g)[L::q]) const { all<true>(cell, g); }
  /// Density less 1 and momentum of a cell's outgoing populations.
  SLIP_FN Moments<Number> moments_of(const Cell& cell) const {
    Number g[L::q];
    all_sent(cell, g);
    return moments<L>(g);
  }

 private:
  /// Loads all incoming or outgoing populations of a cell. It checks the storage order once, not for each population,
  /// so that a GPU has all loads in flight at once.
  template <bool coming>
  SLIP_FN void all(const Cell& cell, Number (&g)[L::q]) const {
    const Places& p = places;
    const std::int64_t own = p.element(cell), turn = p.form == Form::turned ? p.component : 0;
    const bool ahead = p.form != Form::apart;
    // `from(q)`: offset from the cell to that from which population q comes.
    const auto load = [&](const auto& from) {
      unrolled<0, L::q>([&](auto q) {
        constexpr bool odd = q() % 2 == 1;
        const bool here = q() == 0 || (odd && ahead) == coming;
        const std::int64_t place =
            here ? 0 : from(std::integral_constant < int, coming ? int{q()} : opposite_of(q()) > ());
        g[q()] = S::load(origin[own + q() * p.component + place + (q() == 0 ? 0 : odd ? turn : -turn)]);
      });
    };
    if (p.numbering.words != nullptr) {
      load([&](auto q) { return p.element(p.behind(cell, heading_of<L>(q()))) - own; });
      return;
    }
    const auto step = [&](int axis, int at) { return Step(p.stride[axis], at, p.wrap.extent[axis]); };
    const Steps<L> steps{step(1, cell.y), step(2, cell.z)};
    const Step x = step(0, cell.x);
    load([&](auto q) { return steps.template upstream<q()>(x); });
  }
};

}  // namespace slipstream::lbm

#pragma once
// The populations of a block's cells as boundaries and readings see them: what a cell sent, what it is about to read.
// A representation of the state offers these functions; links, loads and sums know no other.
#include "device/rolled.hpp"
#include "solver/lbm/lattice/moments.hpp"
#include "solver/lbm/storage/access.hpp"
#include "solver/lbm/storage/places.hpp"
#include "solver/lbm/storage/storage.hpp"

namespace slipstream::lbm {

/// One by one, where Places says. No lattice is needed for that.
template <class S>
struct StoredPopulations {
  using Number = typename S::Number;
  using Word = typename S::Word;
  Word* origin;
  Places places;

  explicit StoredPopulations(const BlockArrays& b) : origin(reinterpret_cast<Word*>(b.populations.origin)), places(b) {}

  SLIP_FN Number sent(const Cell& cell, const Heading& h) const { return S::load(origin[places.outgoing(cell, h)]); }
  SLIP_FN Number comes(const Cell& cell, const Heading& h) const { return S::load(origin[places.incoming(cell, h)]); }
  /// Rounded by chance as those of a step: what is added again and again to numbers as they are stored would become
  /// more or less to the nearest, or nothing. Chance is drawn from the number and from the cell's population at rest,
  /// which lies in the cell in every form, until the cell steps.
  SLIP_FN void bring(const Cell& cell, const Heading& h, Number number) const {
    origin[places.incoming(cell, h)] = typename S::Rounding(sent(cell, Heading{}) * number)(number);
  }
};

/// Kernels learn the lattice when they run: one kernel for all.
template <class S>
struct AnyPopulations : StoredPopulations<S> {
  using Number = typename S::Number;
  Headings headings;

  AnyPopulations(const BlockArrays& b, const Headings& headings) : StoredPopulations<S>(b), headings(headings) {}

  /// Brings f(sent, second) for each population whose bit `in` has: of InterpolatedCell.
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

/// The compiler knows the lattice.
template <class L, class S>
struct Populations : StoredPopulations<S> {
  using Lattice = L;
  using Number = typename S::Number;
  using StoredPopulations<S>::origin, StoredPopulations<S>::places;
  using StoredPopulations<S>::StoredPopulations;

  /// All that a cell sent.
  SLIP_FN void all_sent(const Cell& cell, Number (&g)[L::q]) const { all<false>(cell, g); }
  /// All that it is about to read.
  SLIP_FN void all_coming(const Cell& cell, Number (&g)[L::q]) const { all<true>(cell, g); }
  /// Density less 1 and momentum of what it sent.
  SLIP_FN Moments<Number> moments_of(const Cell& cell) const {
    Number g[L::q];
    all_sent(cell, g);
    return moments<L>(g);
  }

 private:
  /// As Places::outgoing and incoming find them, but asking for form and storage once and not for each population: a
  /// GPU then has all of them under way at the same time.
  template <bool coming>
  SLIP_FN void all(const Cell& cell, Number (&g)[L::q]) const {
    const Places& p = places;
    const std::int64_t own = p.element(cell), turn = p.form == Form::turned ? p.component : 0;
    const bool ahead = p.form != Form::apart;
    // `from(q)`: elements to the cell that population q comes from.
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

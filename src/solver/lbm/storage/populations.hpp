#pragma once
// The populations of a block's cells as boundaries and readings see them: what a cell sent, what it is about to read.
// A representation of the state offers these functions; links, loads and sums know no other.
#include "solver/lbm/moments.hpp"
#include "solver/lbm/storage/access.hpp"
#include "solver/lbm/storage/places.hpp"
#include "solver/lbm/storage/storage.hpp"

namespace slipstream::lbm {

/// Stored one by one, where Places says.
template <class L, class S>
struct Populations {
  using Lattice = L;
  using Number = typename S::Number;
  using Word = typename S::Word;
  Word* origin;
  Places places;

  explicit Populations(const BlockArrays& b) : origin(reinterpret_cast<Word*>(b.populations.origin)), places(b) {}

  SLIP_FN Number sent(const Cell& cell, const Heading& h) const { return S::load(origin[places.outgoing(cell, h)]); }
  SLIP_FN Number comes(const Cell& cell, const Heading& h) const { return S::load(origin[places.incoming(cell, h)]); }
  /// Rounded by chance as those of a step: what is added again and again to numbers as they are stored would become
  /// more or less to the nearest, or nothing. Chance is drawn from the number and from the cell's population at rest,
  /// which lies in the cell in every form, until the cell steps.
  SLIP_FN void bring(const Cell& cell, const Heading& h, Number number) const {
    origin[places.incoming(cell, h)] = typename S::Rounding(sent(cell, Heading{}) * number)(number);
  }

  /// All that a cell sent, as Places::outgoing finds it, but asking for form and storage once and not for each
  /// population: a GPU then has all of them under way at the same time.
  SLIP_FN void all_sent(const Cell& cell, Number (&g)[L::q]) const {
    const Places& p = places;
    if (p.numbering.words != nullptr) {
      unrolled<0, L::q>([&](auto q) { g[q()] = sent(cell, heading_of<L>(q())); });
      return;
    }
    const Word* const own = origin + cell.x * p.stride[0] + cell.y * p.stride[1] + cell.z * p.stride[2];
    const auto step = [&](int axis, int at) { return Step(p.stride[axis], at, p.wrap.extent[axis]); };
    const Steps<L> steps{step(1, cell.y), step(2, cell.z)};
    const Step x = step(0, cell.x);
    const std::int64_t turn = p.form == Form::turned ? p.component : 0;
    const bool ahead = p.form != Form::apart;
    unrolled<0, L::q>([&](auto q) {
      constexpr bool odd = q() % 2 == 1;
      const std::int64_t place = ahead && odd ? steps.template upstream<opposite_of(q())>(x) : 0;
      g[q()] = S::load(own[q() * p.component + place + (q() == 0 ? 0 : odd ? turn : -turn)]);
    });
  }
  /// All that it is about to read.
  SLIP_FN void all_coming(const Cell& cell, Number (&g)[L::q]) const {
    unrolled<0, L::q>([&](auto q) { g[q()] = comes(cell, heading_of<L>(q())); });
  }
  /// Density less 1 and momentum of what it sent.
  SLIP_FN Moments<Number> moments_of(const Cell& cell) const {
    Number g[L::q];
    all_sent(cell, g);
    return moments<L>(g);
  }
};

}  // namespace slipstream::lbm

#pragma once
// The step of a cell. Populations are stored as deviations from the weights, g_i = f_i - w_i, so that f32 keeps its
// digits where the flow is nearly at rest.
#include <slipstream/launch.hpp>

#include "solver/lbm/access.hpp"
#include "solver/lbm/storage.hpp"

namespace slipstream::lbm {

/// Pulls the populations of a cell, collides them and writes them; a solid cell's are left at rest.
template <class L, class S, Strides strides, bool solids, bool wrap_x, class Collision>
struct StreamCollide {
  using Word = typename S::Word;
  using T = typename S::Number;
  Access<L, const Word, strides> in;
  Access<L, Word, strides> out;
  Scalars<const std::uint8_t> flags;
  Wrap wrap;
  Collision collision;

  /// The cells of one row.
  struct Row {
    StreamCollide kernel;
    std::int64_t start, flags_start;
    Steps<L> steps;
    SLIP_FN void operator()(int i) const { kernel.cell(*this, i); }
  };
  SLIP_FN Row row(int j, int k) const {
    return {
        *this, in.at(0, j, k), flags.at(0, j, k), {Step(in.row, j, wrap.extent[1]), Step(in.plane, k, wrap.extent[2])}};
  }
  SLIP_FN void operator()(int i, int j, int k) const { row(j, k)(i); }

  SLIP_FN void cell(const Row& row, int i) const {
    const std::int64_t at = row.start + in.at(i, 0, 0);
    const Step x(in.at(1, 0, 0), i, wrap_x ? wrap.extent[0] : 0);
    T g[L::q];
    unrolled<0, L::q>(
        [&](auto q) { g[q()] = S::load(in.template population<q()>()[at + row.steps.template upstream<q()>(x)]); });
    collision(g);
    const bool solid = solids && flags.origin[row.flags_start + i] != 0;
    unrolled<0, L::q>([&](auto q) { out.template population<q()>()[at] = S::store(solids && solid ? T(0) : g[q()]); });
  }
};

template <class L, class S, Strides strides, bool solids, bool wrap_x, class Collision>
void launch_step(Stream& stream, const Box& box, const BlockArrays& b, const Collision& collision) {
  launch(
      stream, box,
      StreamCollide<L, S, strides, solids, wrap_x, Collision>{Access<L, const typename S::Word, strides>(b.populations),
                                                              Access<L, typename S::Word, strides>(b.populations_out),
                                                              Scalars<const std::uint8_t>(b.flags), b.wrap, collision});
}

}  // namespace slipstream::lbm

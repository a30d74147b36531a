#pragma once
// A step by ten moments, cell by cell: each computes anew what its 18 neighbours sent. For any box on both backends,
// and for cells beside walls, bodies and openings. march.hpp and rows.hpp give the same bits faster.
#include <slipstream/launch.hpp>

#include "solver/lbm/by_moments/cells.hpp"

namespace slipstream::lbm {

template <class S, class Collision>
struct StepCells {
  using T = typename S::Number;
  MomentCells<S> in;
  typename S::Word* out;
  Collision collision;
  /// Of a block whose cells that are not fluid are neither read nor written; origin null: it has none, or takes all
  /// cells alike. What fluid cells beside them would have been sent comes from lists in any case.
  Scalars<const std::uint8_t> flags;

  SLIP_FN bool skips() const { return flags.origin != nullptr; }
  SLIP_FN bool solid(int i, int j, int k) const { return flags.origin[flags.at(i, j, k)] != 0; }
  SLIP_FN void operator()(int i, int j, int k) const {
    if (skips() && solid(i, j, k)) return;
    const unsigned beside = in.walls.beside(i, j, k);
    T g[D3Q19::q];
    in.gather({i, j, k}, 0, beside, g);
    beside == 0 ? finish({i, j, k}, g) : finish_beside({i, j, k}, g);
  }
  SLIP_FN void finish(const Cell& cell, const T (&g)[D3Q19::q]) const {
    TenMoments<T> m = moments_arrived(g);
    collision(m);
    store_moments<S>(out + in.at(cell), in.component, m);
  }
  SLIP_FN void finish_beside(const Cell& cell, const T (&g)[D3Q19::q]) const {
    TenMoments<T> m = moments_arrived(g);
    collision(m);
    collision.smooth(m, in.load(in.at(cell)));
    store_moments<S>(out + in.at(cell), in.component, m);
  }
};

/// What neighbours send to the cells that links bring populations to, for these to complete.
template <class S>
struct GatherArrivals {
  MomentCells<S> in;
  const std::uint32_t* list;
  SLIP_FN void operator()(std::int64_t n) const {
    const BoundaryCell beside = in.boundary.cells[list[n]];
    typename S::Number g[D3Q19::q];
    in.gather(beside.cell, beside.resting, 0, g);
    unrolled<0, D3Q19::q>([&](auto i) { in.arrivals()[i() * in.boundary.count + beside.arrivals] = g[i()]; });
  }
};

/// The step of cells beside walls, bodies and openings, which the other kernels have taken for cells like all others.
template <class S, class Collision>
struct StepBoundary {
  StepCells<S, Collision> step;
  const std::uint32_t* list;
  SLIP_FN void operator()(std::int64_t n) const {
    const BoundaryCell beside = step.in.boundary.cells[list[n]];
    typename S::Number g[D3Q19::q];
    if (beside.arrivals < 0) {
      step.in.gather(beside.cell, beside.resting, 0, g);
    } else {
      unrolled<0, D3Q19::q>(
          [&](auto i) { g[i()] = step.in.arrivals()[i() * step.in.boundary.count + beside.arrivals]; });
    }
    step.finish_beside(beside.cell, g);
  }
};

}  // namespace slipstream::lbm

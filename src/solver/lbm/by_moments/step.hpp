#pragma once
// A step in ten moments, cell by cell: each cell recomputes the populations of its 18 neighbours. It works for any box
// on both backends, and for cells next to walls, bodies and openings. march.hpp and rows.hpp give the same bits faster.
#include <slipstream/launch.hpp>

#include "solver/lbm/by_moments/cells.hpp"

namespace slipstream::lbm {

template <class S, class Collision>
struct StepCells {
  using T = typename S::Number;
  MomentCells<S> in;
  typename S::Word* out;
  Collision collision;
  /// Flags of a block's cells, not 0 in solid cells, which the step then neither reads nor writes. The pointer `origin`
  /// is null if the block has no solid cells, or if the step treats them like fluid cells.
  Scalars<const std::uint8_t> flags;

  SLIP_FN bool skips() const { return flags.origin != nullptr; }
  SLIP_FN bool solid(int i, int j, int k) const { return flags.origin[flags.at(i, j, k)] != 0; }
  SLIP_FN void operator()(int i, int j, int k) const {
    if (skips() && solid(i, j, k)) return;
    const unsigned beside = in.walls.beside(i, j, k);
    T g[D3Q19::q];
    in.gather({i, j, k}, 0, beside, g);
    beside == 0 ? finish({i, j, k}, g) : finish_near({i, j, k}, g);
  }
  SLIP_FN void finish(const Cell& cell, const T (&g)[D3Q19::q]) const {
    TenMoments<T> m = moments_arrived(g);
    collision(m);
    store_moments<S>(out + in.at(cell), in.component, m);
  }
  SLIP_FN void finish_near(const Cell& cell, const T (&g)[D3Q19::q]) const {
    TenMoments<T> m = moments_arrived(g);
    collision(m);
    collision.smooth(m, in.load(in.at(cell)));
    store_moments<S>(out + in.at(cell), in.component, m);
  }
};

/// Collects the populations from neighbours for cells with links, which then complete them.
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

/// Advances cells next to walls, bodies and openings, which the other kernels treat as ordinary cells.
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
      unrolled<0, D3Q19::q>([&](auto i) { g[i()] = brought<i()>(beside); });
    }
    step.finish_near(beside.cell, g);
  }
  template <int i>
  SLIP_FN typename S::Number brought(const BoundaryCell& beside) const {
    return step.in.arrivals()[i * step.in.boundary.count + beside.arrivals];
  }
  /// Population in direction i that streams into a boundary cell: from a neighbour, off a wall, or brought by a link.
  template <int i>
  SLIP_FN typename S::Number coming(const BoundaryCell& beside) const {
    if (beside.arrivals >= 0) return brought<i>(beside);
    const bool back = i == 0 || (beside.resting >> i & 1u) != 0;
    const auto s = step.in.sending(back ? beside.cell : step.in.behind(beside.cell, heading_of<D3Q19>(i)));
    return back ? s.template population<opposite_of(i)>() : s.template population<i>();
  }
};

/// Gathers populations on a GPU. One thread would wait for 18 neighbours in turn, so a warp loads one neighbour of each
/// of its cells.
template <class S, class Collision>
struct StepBoundaryByTeams {
  using T = typename S::Number;
  static constexpr int cells = 32, threads = D3Q19::q * cells, resident = 2;
  static constexpr std::size_t shared_bytes = threads * sizeof(T);
  StepBoundary<S, Collision> boundary;
  std::int64_t count;

  std::int64_t teams() const { return (count + cells - 1) / cells; }
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    T* const arriving = team.template shared<T>();
    const auto cell = [&](int thread) { return team.index() * cells + thread % cells; };
    const auto beside = [&](int thread) { return boundary.step.in.boundary.cells[boundary.list[cell(thread)]]; };
    team.each([&](int thread) {
      if (cell(thread) >= count) return;
      const BoundaryCell here = beside(thread);
      unrolled<0, D3Q19::q>([&](auto i) {
        if (thread / cells == i()) arriving[thread] = boundary.template coming<i()>(here);
      });
    });
    team.each([&](int thread) {
      if (thread >= cells || cell(thread) >= count) return;
      T g[D3Q19::q];
      unrolled<0, D3Q19::q>([&](auto i) { g[i()] = arriving[i() * cells + thread]; });
      boundary.step.finish_near(beside(thread).cell, g);
    });
  }
};

}  // namespace slipstream::lbm

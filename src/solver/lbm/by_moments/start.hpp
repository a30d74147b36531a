#pragma once
// The ten moments of a fluid at rest and of a given flow, as a collision leaves them.
#include <slipstream/launch.hpp>

#include "solver/lbm/by_moments/cells.hpp"
#include "solver/lbm/start.hpp"

namespace slipstream::lbm {

/// A force leaves half of itself as momentum.
template <class S>
struct RestByMoments {
  using T = typename S::Number;
  MomentCells<S> cells;
  Scalars<const std::uint8_t> flags;
  T half[3];
  SLIP_FN void operator()(int i, int j, int k) const {
    if (flags.origin[flags.at(i, j, k)] != 0) return;
    TenMoments<T> m{};
    m.x = half[0];
    m.y = half[1];
    m.z = half[2];
    store_moments<S>(cells.origin + cells.at({i, j, k}), cells.component, m);
  }
};

/// Cells that are not fluid, for those who look at the field.
template <class S>
struct RestSolidsByMoments {
  MomentCells<S> cells;
  Scalars<const std::uint8_t> flags;
  SLIP_FN void operator()(int i, int j, int k) const {
    if (flags.origin[flags.at(i, j, k)] == 0) return;
    store_moments<S>(cells.origin + cells.at({i, j, k}), cells.component, {});
  }
};

/// As StartFlow, whose series of second order these moments are.
template <class S>
struct StartByMoments {
  using T = typename S::Number;
  MomentCells<S> cells;
  Scalars<const std::uint8_t> flags;
  GivenFlow flow;

  SLIP_FN void operator()(int i, int j, int k) const {
    if (flags.origin[flags.at(i, j, k)] != 0) return;
    const GivenFlow::Cell c = flow.cell(i, j, k);
    const double by = c.stress / 4.5, *u = c.u;
    const auto second = [&](int a, int b) { return static_cast<T>(c.rho * u[a] * u[b] - by * c.s[a][b]); };
    const auto first = [&](int a) { return static_cast<T>(c.rho * u[a] + flow.half[a]); };
    const TenMoments<T> m{static_cast<T>(c.excess),
                          first(0),
                          first(1),
                          first(2),
                          second(0, 0),
                          second(1, 1),
                          second(2, 2),
                          second(0, 1),
                          second(0, 2),
                          second(1, 2)};
    store_moments<S>(cells.origin + cells.at({i, j, k}), cells.component, m);
  }
};

}  // namespace slipstream::lbm

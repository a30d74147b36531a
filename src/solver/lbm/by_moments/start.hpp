#pragma once
// Initial moments of a fluid at rest or of a given flow, as they are after a collision.
#include <slipstream/launch.hpp>

#include "solver/lbm/by_moments/cells.hpp"
#include "solver/lbm/step/start.hpp"

namespace slipstream::lbm {

/// Pseudo-random bits of a cell from its coordinates in the domain: the same for any partition, and for mirror images.
class ChanceOfPlace {
 public:
  explicit ChanceOfPlace(const BlockArrays& b) {
    for (int a = 0; a < 3; ++a) {
      low_[a] = b.low[a];
      last_[a] = b.domain[a] - 1;
    }
  }
  SLIP_FN std::uint32_t operator()(int i, int j, int k) const {
    const int cell[3] = {i, j, k};
    std::uint32_t h = 0;
    for (int a = 0; a < 3; ++a) {
      const std::int64_t p = low_[a] + cell[a], mirrored = last_[a] - p;
      h = mixed(h + static_cast<std::uint32_t>(p < mirrored ? p : mirrored) + 0x9e3779b9u);
    }
    return h;
  }

 private:
  /// Mixes bits by the finaliser of MurmurHash3 (Appleby 2011).
  static SLIP_FN std::uint32_t mixed(std::uint32_t h) {
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
  }
  std::int64_t low_[3], last_[3];
};

/// Sets fluid cells before the first step. In 16 bits, steps round with random bits from the cell itself. Equal cells
/// would draw equal bits for ever, and averages could not remove the errors. So cells start unequal: a tiny random
/// number is added to each density, and rounding uses random bits computed from the position.
template <class S>
struct StartCells {
  using Ten = TenMoments<typename S::Number>;
  MomentCells<S> cells;
  Scalars<const std::uint8_t> flags;
  ChanceOfPlace chance;

  explicit StartCells(const BlockArrays& b) : cells(b), flags(b.flags), chance(b) {}
  SLIP_FN bool fluid(int i, int j, int k) const { return flags.origin[flags.at(i, j, k)] == 0; }
  SLIP_FN void put(int i, int j, int k, Ten m) const {
    const std::uint32_t drawn = chance(i, j, k);
    m.excess += S::seed(drawn);
    store_moments<S>(cells.origin + cells.at({i, j, k}), cells.component, m, drawn);
  }
};

/// Sets the moments of a fluid at rest; under a force its momentum is half of the force.
template <class S>
struct RestByMoments {
  using T = typename S::Number;
  StartCells<S> start;
  T half[3];
  SLIP_FN void operator()(int i, int j, int k) const {
    if (!start.fluid(i, j, k)) return;
    TenMoments<T> m{};
    m.x = half[0];
    m.y = half[1];
    m.z = half[2];
    start.put(i, j, k, m);
  }
};

/// Sets the moments of cells that are not fluid, because output may read them.
template <class S>
struct RestSolidsByMoments {
  MomentCells<S> cells;
  Scalars<const std::uint8_t> flags;
  SLIP_FN void operator()(int i, int j, int k) const {
    if (flags.origin[flags.at(i, j, k)] == 0) return;
    store_moments<S>(cells.origin + cells.at({i, j, k}), cells.component, {});
  }
};

/// Sets the moments of a given flow by the second-order series that StartFlow uses.
template <class S>
struct StartByMoments {
  using T = typename S::Number;
  StartCells<S> start;
  GivenFlow flow;

  SLIP_FN void operator()(int i, int j, int k) const {
    if (!start.fluid(i, j, k)) return;
    const GivenFlow::Cell c = flow.cell(i, j, k);
    const double by = c.stress / 4.5, *u = c.u;
    const auto second = [&](int a, int b) { return static_cast<T>(c.rho * u[a] * u[b] - by * c.s[a][b]); };
    const auto first = [&](int a) { return static_cast<T>(c.rho * u[a] + flow.half[a]); };
    start.put(i, j, k,
              {static_cast<T>(c.excess), first(0), first(1), first(2), second(0, 0), second(1, 1), second(2, 2),
               second(0, 1), second(0, 2), second(1, 2)});
  }
};

}  // namespace slipstream::lbm

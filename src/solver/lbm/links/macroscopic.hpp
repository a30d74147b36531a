#pragma once
// Kernels that read the populations: velocity, density, mass, and invalid values.
#include <slipstream/launch.hpp>

#include "solver/common/cell_rows.hpp"
#include "solver/lbm/collision/flow.hpp"
#include "solver/lbm/lattice/row_sums.hpp"
#include "solver/lbm/storage/populations.hpp"

namespace slipstream::lbm {

/// The larger of two numbers; NaN if either is NaN.
SLIP_FN double larger(double a, double b) { return b > a || b != b ? b : a; }

template <class Cells>
struct Macroscopic {
  using T = typename Cells::Number;
  Cells in;
  Scalars<T> velocity, density;
  Scalars<const std::uint8_t> flags;
  CellRows rows;
  /// Half of the force. The stored momentum includes all of the last force, the velocity of the flow only half of it.
  T half[3];
  double* change;

  SLIP_FN double cell(const CellRows::Cell& c) const {
    const int i = c.x, j = c.y, k = c.z;
    const bool solid = flags.origin[flags.at(i, j, k)] != 0;
    const Moments<T> m = solid ? Moments<T>{T(0), T(0), T(0), T(0)} : in.moments_of({i, j, k});
    const T inverse = T(1) / (T(1) + m.excess);
    const T u[3] = {solid ? T(0) : (m.x - half[0]) * inverse, solid ? T(0) : (m.y - half[1]) * inverse,
                    solid ? T(0) : (m.z - half[2]) * inverse};
    if (density.origin) density.origin[density.at(i, j, k)] = solid ? T(0) : T(1) + m.excess;
    double largest = 0;
    const std::int64_t at = velocity.at(i, j, k);
    for (int a = 0; a < 3; ++a) {
      const double moved =
          static_cast<double>(u[a]) - static_cast<double>(velocity.origin[at + a * velocity.component]);
      largest = larger(largest, moved < 0 ? -moved : moved);
      velocity.origin[at + a * velocity.component] = u[a];
    }
    return largest;
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const Macroscopic& self = *this;
    double* largest = team.template shared<double>();
    team.each([=, &self, &team](int thread) {
      double mine = 0;
      for (int n = thread; n < self.rows.length; n += row_threads)
        mine = larger(mine, self.cell(self.rows.cell(team.index(), n)));
      largest[thread] = mine;
    });
    team.each([=, &self, &team](int thread) {
      if (thread != 0) return;
      double all = 0;
      for (int t = 0; t < row_threads; ++t) all = larger(all, largest[t]);
      self.change[team.index()] = all;
    });
  }
};

template <class Cells>
struct ExcessMass {
  Cells in;
  Scalars<const std::uint8_t> flags;

  SLIP_FN void add(int i, int j, int k, double* mine) const {
    if (flags.origin[flags.at(i, j, k)] == 0) *mine += static_cast<double>(in.moments_of({i, j, k}).excess);
  }
};

/// Finds cells whose density is out of range; solid cells have no density.
template <class Cells>
struct DensityFaults {
  Cells in;
  Scalars<const std::uint8_t> flags;
  double lowest, highest;

  SLIP_FN bool fault(int i, int j, int k, double* value) const {
    if (flags.origin[flags.at(i, j, k)] != 0) return false;
    *value = 1 + static_cast<double>(in.moments_of({i, j, k}).excess);
    return !(*value >= lowest && *value <= highest);
  }
};

}  // namespace slipstream::lbm

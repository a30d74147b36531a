#pragma once
// Initial populations from a given flow.
#include <cmath>

#include <slipstream/stream.hpp>

#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/storage/places.hpp"

namespace slipstream::lbm {

/// A given flow, and the parameters of its conversion to populations.
struct GivenFlow {
  FlowValues flow;
  double tau, eddies;  ///< relaxation time of the stress; factor 3 C^2 of the eddy viscosity
  double half[3];      ///< half of the force per volume

  GivenFlow(const FlowValues& flow, const Model& model)
      : flow(flow),
        tau(3 * model.viscosity + 0.5),
        eddies(3 * model.smagorinsky.value_or(0) * model.smagorinsky.value_or(0)),
        half{0.5 * model.force[0], 0.5 * model.force[1], 0.5 * model.force[2]} {}

  SLIP_FN const double* at(int i, int j, int k) const {
    const Box& b = flow.around;
    return flow.values + 4 * (((k - b.lo[2]) * b.extent(1) + (j - b.lo[1])) * b.extent(0) + (i - b.lo[0]));
  }

  /// Gradient du of the velocity along an axis, in a cell.
  SLIP_FN void gradient(int i, int j, int k, int axis, double (&du)[3]) const {
    int low[3] = {i, j, k}, high[3] = {i, j, k};
    if (low[axis] > flow.around.lo[axis]) --low[axis];
    if (high[axis] < flow.around.hi[axis] - 1) ++high[axis];
    const double* before = at(low[0], low[1], low[2]);
    const double* after = at(high[0], high[1], high[2]);
    const int distance = high[axis] - low[axis];
    for (int c = 0; c < 3; ++c) du[c] = distance == 0 ? 0 : (after[1 + c] - before[1 + c]) / distance;
  }

  /// State of a cell at the start. s: rate of strain; stress: its factor 3 rho (tau - 1) in the populations.
  struct Cell {
    double excess, rho, u[3], s[3][3], stress;
  };
  SLIP_FN Cell cell(int i, int j, int k) const {
    Cell c{};
    double d[3][3], ss = 0;
    for (int a = 0; a < 3; ++a) gradient(i, j, k, a, d[a]);
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) {
        c.s[a][b] = 0.5 * (d[a][b] + d[b][a]);
        ss += c.s[a][b] * c.s[a][b];
      }
    c.excess = at(i, j, k)[0];
    c.rho = 1 + c.excess;
    for (int a = 0; a < 3; ++a) c.u[a] = at(i, j, k)[1 + a];
    c.stress = 3 * c.rho * (tau + eddies * std::sqrt(2 * ss) - 1);
    return c;
  }
};

/// Sets the populations of fluid cells from a given flow, for any lattice.
template <class S>
struct PopulationsStart {
  Headings headings;
  double weight[4];  ///< lattice weights by the squared length of a velocity

  template <class L>
  static PopulationsStart of() {
    PopulationsStart start{headings_of<L>(), {}};
    for (int i = 0; i < L::q; ++i)
      start.weight[L::velocity[i][0] * L::velocity[i][0] + L::velocity[i][1] * L::velocity[i][1] +
                   L::velocity[i][2] * L::velocity[i][2]] = L::weight(i);
    return start;
  }
  void at_rest(Stream& stream, const Box& box, const BlockArrays& b, const Model& model) const;
  void flow(Stream& stream, const Box& box, const BlockArrays& b, const GivenFlow& flow) const;
};

}  // namespace slipstream::lbm

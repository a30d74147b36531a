#pragma once
// The populations of a given flow, as a collision leaves them.
#include <cmath>

#include <slipstream/launch.hpp>

#include "device/rolled.hpp"
#include "solver/lbm/step/kernels.hpp"
#include "solver/lbm/storage/access.hpp"
#include "solver/lbm/storage/places.hpp"
#include "solver/lbm/storage/storage.hpp"

namespace slipstream::lbm {

/// A flow, and what it needs to become populations.
struct GivenFlow {
  FlowValues flow;
  double tau, eddies;  ///< of the stress; 3 C^2
  double half[3];      ///< of the force

  GivenFlow(const FlowValues& flow, const Model& model)
      : flow(flow),
        tau(3 * model.viscosity + 0.5),
        eddies(3 * model.smagorinsky.value_or(0) * model.smagorinsky.value_or(0)),
        half{0.5 * model.force[0], 0.5 * model.force[1], 0.5 * model.force[2]} {}

  SLIP_FN const double* at(int i, int j, int k) const {
    const Box& b = flow.around;
    return flow.values + 4 * (((k - b.lo[2]) * b.extent(1) + (j - b.lo[1])) * b.extent(0) + (i - b.lo[0]));
  }

  /// Of the velocity along an axis.
  SLIP_FN void gradient(int i, int j, int k, int axis, double (&du)[3]) const {
    int low[3] = {i, j, k}, high[3] = {i, j, k};
    if (low[axis] > flow.around.lo[axis]) --low[axis];
    if (high[axis] < flow.around.hi[axis] - 1) ++high[axis];
    const double* before = at(low[0], low[1], low[2]);
    const double* after = at(high[0], high[1], high[2]);
    const int distance = high[axis] - low[axis];
    for (int c = 0; c < 3; ++c) du[c] = distance == 0 ? 0 : (after[1 + c] - before[1 + c]) / distance;
  }

  /// s: the rate of strain; stress: 3 rho (tau - 1).
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

/// To first order in gradients a collision leaves
///
///   f_i = equilibrium_i(rho, u) - 3 w_i rho (tau - 1) (c_i c_i - 1/3) : S,    S = (grad u + (grad u)^T) / 2
///
/// (Chapman & Enskog; Latt & Chopard 2006), tau with eddies that of the case, and of a force half of the source more,
/// as Rest does. The gradient is that of central differences, of one-sided ones at sides that are not periodic.
template <class L, class S>
struct StartFlow {
  typename S::Word* out;
  Places places;
  Scalars<const std::uint8_t> flags;
  GivenFlow flow;

  SLIP_FN void operator()(int i, int j, int k) const {
    if (flags.origin[flags.at(i, j, k)] != 0) return;
    const GivenFlow::Cell at = flow.cell(i, j, k);
    const double *u = at.u, uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    SLIP_ROLLED
    for (int q = 0; q < L::q; ++q) {
      const Heading h = heading_at<L>(q);
      const double c[3] = {double(h.x), double(h.y), double(h.z)};
      double cu = 0, ch = 0, qs = 0;
      for (int a = 0; a < 3; ++a) {
        cu += c[a] * u[a];
        ch += c[a] * flow.half[a];
        for (int b = 0; b < 3; ++b) qs += (c[a] * c[b] - (a == b ? 1.0 / 3 : 0.0)) * at.s[a][b];
      }
      const double g = at.excess + at.rho * (3 * cu + 4.5 * cu * cu - 1.5 * uu) - at.stress * qs + 3 * ch;
      out[places.outgoing({i, j, k}, h)] = S::store(static_cast<typename S::Number>(L::weight(q) * g));
    }
  }
};

}  // namespace slipstream::lbm

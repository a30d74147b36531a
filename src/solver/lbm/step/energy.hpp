#pragma once
// Sums of the kinetic energy and the dissipation of the flow, from the populations.
#include "solver/lbm/collision/smagorinsky.hpp"
#include "solver/lbm/links/macroscopic.hpp"

namespace slipstream::lbm {

/// Sums over fluid cells of rho u^2 / 2 at this step, and of the dissipation 2 rho nu S:S in the next step. S is the
/// rate of strain without its trace, from the stress of the incoming populations, Q = -2/3 rho tau S: local, second
/// order. Averaged over a periodic box, S:S is half of the mean square of the vorticity, that is, the enstrophy.
template <class Cells>
struct EnergySums {
  using L = typename Cells::Lattice;
  using T = typename Cells::Number;
  Cells in;
  Scalars<const std::uint8_t> flags;
  Force<T> force;
  double viscosity, constant;  ///< viscosity and Smagorinsky constant

  SLIP_FN double energy(int i, int j, int k) const {
    const Moments<T> m = in.moments_of({i, j, k});
    const T x = m.x - T(0.5) * force.x, y = m.y - T(0.5) * force.y, z = m.z - T(0.5) * force.z;
    return 0.5 * static_cast<double>((x * x + y * y + z * z) / (T(1) + m.excess));
  }

  SLIP_FN double dissipation(int i, int j, int k) const {
    T g[L::q];
    in.all_coming({i, j, k}, g);
    const Flow<T> u(moments<L>(g), force);
    const Tensor<T> s = excess_stress<L>(g, u, force);
    const T mean = T(1.0 / L::dimensions) * trace<L>(s);
    const double x = s.xx - mean, y = s.yy - mean, z = L::dimensions == 3 ? double(s.zz - mean) : 0;
    const double xy = s.xy, xz = s.xz, yz = s.yz, rho = u.rho;
    const double qq = x * x + y * y + z * z + 2 * (xy * xy + xz * xz + yz * yz);
    // Relaxation time of the Smagorinsky model; with a constant of 0 it follows from the viscosity alone.
    const double tau_0 = 3 * viscosity + 0.5, factor = 18 * std::sqrt(2.0) * constant * constant;
    const double tau = 0.5 * (tau_0 + std::sqrt(tau_0 * tau_0 + factor * std::sqrt(qq) / rho));
    return 2 * (tau - 0.5) / 3 * 2.25 * qq / (rho * tau * tau);
  }

  SLIP_FN void add(int i, int j, int k, double* mine) const {
    if (flags.origin[flags.at(i, j, k)] != 0) return;
    mine[0] += energy(i, j, k);
    mine[1] += dissipation(i, j, k);
  }
};

}  // namespace slipstream::lbm

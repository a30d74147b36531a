#pragma once
#include "solver/lbm/moments.hpp"

namespace slipstream::lbm {

/// Two-relaxation-time collision (Ginzburg, Verhaeghe & d'Humieres 2008): the symmetric part of each pair relaxes with
/// omega_plus, which sets the viscosity, the antisymmetric part with omega_minus, which sets where walls lie.
template <class L, class T>
struct Trt {
  T omega_plus, omega_minus;
  T magic;  ///< (1 / omega_plus - 1/2) (1 / omega_minus - 1/2)

  Trt(double plus, double minus)
      : omega_plus(static_cast<T>(plus)),
        omega_minus(static_cast<T>(minus)),
        magic(static_cast<T>((1 / plus - 0.5) * (1 / minus - 0.5))) {}

  /// The same with another relaxation time of the stress; walls stay where they are.
  SLIP_FN Trt with_tau(T tau) const {
    const T beyond_half = tau - T(0.5);
    Trt changed = *this;
    changed.omega_plus = T(1) / tau;
    changed.omega_minus = beyond_half / (magic + T(0.5) * beyond_half);
    return changed;
  }

  SLIP_FN void operator()(T (&g)[L::q]) const { relax(g, omega_plus, omega_minus); }

  /// Equal rates are the single-relaxation-time (BGK) model.
  SLIP_FN static void relax(T (&g)[L::q], T omega_plus, T omega_minus) {
    const Moments<T> m = moments<L, T>(g);
    const T rho = T(1) + m.excess, inverse = T(1) / rho;
    const T ux = m.x * inverse, uy = m.y * inverse, uz = L::dimensions == 3 ? m.z * inverse : T(0);
    const T square = T(1.5) * (ux * ux + uy * uy + uz * uz);
    constexpr T w0 = T(L::weight(0));
    g[0] = g[0] - omega_plus * (g[0] - w0 * (m.excess - rho * square));
    unrolled<0, (L::q - 1) / 2>([&](auto pair) {
      constexpr int p = 2 * pair() + 1;
      constexpr int x = L::velocity[p][0], y = L::velocity[p][1], z = L::velocity[p][2];
      constexpr T w = T(L::weight(p));
      T cu = T(0);
      if constexpr (x != 0) cu += x > 0 ? ux : -ux;
      if constexpr (y != 0) cu += y > 0 ? uy : -uy;
      if constexpr (z != 0) cu += z > 0 ? uz : -uz;
      const T even = w * (m.excess + rho * (T(4.5) * cu * cu - square)), odd = w * rho * (T(3) * cu);
      const T plus = omega_plus * (T(0.5) * (g[p] + g[p + 1]) - even);
      const T minus = omega_minus * (T(0.5) * (g[p] - g[p + 1]) - odd);
      g[p] = g[p] - plus - minus;
      g[p + 1] = g[p + 1] - plus + minus;
    });
  }
};

}  // namespace slipstream::lbm

#pragma once
#include "solver/lbm/collision/flow.hpp"

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

  template <class F = NoForce>
  SLIP_FN void operator()(T (&g)[L::q], const F& force = {}) const {
    relax(g, omega_plus, omega_minus, force);
  }

  /// Equal rates are the single-relaxation-time (BGK) model.
  template <class F>
  SLIP_FN static void relax(T (&g)[L::q], T omega_plus, T omega_minus, const F& force) {
    const Flow<T> u(moments<L>(g), force);
    const T square = T(1.5) * (u.x * u.x + u.y * u.y + u.z * u.z);
    constexpr T w0 = T(L::weight(0));
    g[0] = g[0] - omega_plus * (g[0] - w0 * (u.excess - u.rho * square));
    // Factors of the source: 9 and 3 (1 - rate / 2), and 3 u . F in it.
    T even_source = T(0), odd_source = T(0), work = T(0);
    if constexpr (F::acts) {
      even_source = T(9) - T(4.5) * omega_plus;
      odd_source = T(3) - T(1.5) * omega_minus;
      work = (T(3) - T(1.5) * omega_plus) * dot<L>(u.x, u.y, u.z, force.x, force.y, force.z);
      g[0] -= w0 * work;
    }
    unrolled<0, (L::q - 1) / 2>([&](auto pair) {
      constexpr int p = 2 * pair() + 1;
      constexpr int x = L::velocity[p][0], y = L::velocity[p][1], z = L::velocity[p][2];
      constexpr T w = T(L::weight(p));
      T cu = T(0);
      if constexpr (x != 0) cu += x > 0 ? u.x : -u.x;
      if constexpr (y != 0) cu += y > 0 ? u.y : -u.y;
      if constexpr (z != 0) cu += z > 0 ? u.z : -u.z;
      const T even = w * (u.excess + u.rho * (T(4.5) * cu * cu - square)), odd = w * u.rho * (T(3) * cu);
      T plus = omega_plus * (T(0.5) * (g[p] + g[p + 1]) - even);
      T minus = omega_minus * (T(0.5) * (g[p] - g[p + 1]) - odd);
      if constexpr (F::acts) {
        const T cf = along<L, p>(force.x, force.y, force.z);
        plus -= w * (even_source * (cu * cf) - work);
        minus -= w * (odd_source * cf);
      }
      g[p] = g[p] - plus - minus;
      g[p + 1] = g[p + 1] - plus + minus;
    });
  }
};

}  // namespace slipstream::lbm

#pragma once
#include "solver/lbm/collision/flow.hpp"

namespace slipstream::lbm {

/// Two-relaxation-time collision (Ginzburg, Verhaeghe & d'Humieres 2008): the symmetric part of each pair relaxes with
/// omega_plus, which sets the viscosity, the antisymmetric part with omega_minus, which sets where walls lie.
/// Populations come as `unit` times the deviations, a power of two, which changes no digit.
template <class L, class T, int unit = 1>
struct Trt {
  T omega_plus, omega_minus;
  T magic;              ///< (1 / omega_plus - 1/2) (1 / omega_minus - 1/2), which determines where walls lie
  bool single = false;  ///< whether both rates stay equal when the relaxation time changes

  Trt(double plus, double minus)
      : omega_plus(static_cast<T>(plus)),
        omega_minus(static_cast<T>(minus)),
        magic(static_cast<T>((1 / plus - 0.5) * (1 / minus - 0.5))) {}

  /// Returns this collision with another relaxation time of the stress; the position of walls stays the same.
  SLIP_FN Trt with_tau(T tau) const {
    const T beyond_half = tau - T(0.5);
    Trt changed = *this;
    changed.omega_plus = T(1) / tau;
    changed.omega_minus = single ? changed.omega_plus : beyond_half / (magic + T(0.5) * beyond_half);
    return changed;
  }

  template <class F = NoForce>
  SLIP_FN void operator()(T (&g)[L::q], const F& force = {}) const {
    relax(g, omega_plus, omega_minus, force);
  }

  /// Relaxes populations. Equal rates give the single-relaxation-time (BGK) model.
  template <class F>
  SLIP_FN static void relax(T (&g)[L::q], T omega_plus, T omega_minus, const F& force) {
    Moments<T> m = moments<L>(g);
    if constexpr (unit != 1) {
      constexpr T one = T(1) / T(unit);
      m = {one * m.excess, one * m.x, one * m.y, one * m.z};
    }
    const Flow<T> u(m, force);
    const T square = T(1.5) * (u.x * u.x + u.y * u.y + u.z * u.z);
    const T still = u.excess - u.rho * square, curve = T(4.5) * u.rho, slope = T(3) * u.rho;
    const T half_plus = T(0.5) * omega_plus, half_minus = T(0.5) * omega_minus;
    constexpr T w0 = T(unit * L::weight(0));
    g[0] = g[0] - omega_plus * (g[0] - w0 * still);
    // Guo's source of a force F, by parity: even 9 (c . u)(c . F) - 3 u . F (`work`), odd 3 c . F; times 1 - rate / 2.
    T even_source = T(0), odd_source = T(0), work = T(0);
    if constexpr (F::acts) {
      even_source = T(9) - T(4.5) * omega_plus;
      odd_source = T(3) - T(1.5) * omega_minus;
      work = (T(3) - T(1.5) * omega_plus) * dot<L>(u.x, u.y, u.z, force.x, force.y, force.z);
      g[0] -= w0 * work;
    }
    unrolled<0, (L::q - 1) / 2>([&](auto pair) {
      constexpr int p = 2 * pair() + 1;
      constexpr T w = T(unit * L::weight(p));
      const T cu = along<L, p>(u.x, u.y, u.z);
      // Terms of the equilibria that depend on the weight only are shared by many pairs.
      const T even = w * omega_plus * still + w * omega_plus * curve * (cu * cu), odd = w * omega_minus * slope * cu;
      T plus = half_plus * (g[p] + g[p + 1]) - even;
      T minus = half_minus * (g[p] - g[p + 1]) - odd;
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

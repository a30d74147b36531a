#pragma once
#include "solver/lbm/collision/flow.hpp"

namespace slipstream::lbm {

/// Multiple-relaxation-time collision in moments that are orthogonal under the weights, Hermite polynomials first
/// (Dellar 2002; Duenweg, Schiller & Ladd 2007 for D3Q19). Then the equilibrium has no part in the moments beyond the
/// stress, and these need not be told apart within a group of one rate:
///
///   shear   deviator of the stress      viscosity (1 / shear - 1/2) / 3
///   bulk    trace of the stress         damps sound; 1 forgets it in one step
///   odd     odd moments beyond momentum sets where walls lie, as omega_minus of TRT
///   ghost   even moments beyond stress  1 forgets them in one step
///
/// So each pair relaxes as in TRT, its even part with `ghost`. Then the stress part of it, w (9/2 c.S.c - 3/2 tr S) in
/// Hermite form, is corrected. All rates equal: SRT; shear = bulk = ghost: TRT.
template <class L, class T>
struct Mrt {
  T shear, odd, bulk, ghost;
  T magic;  ///< (1 / shear - 1/2) (1 / odd - 1/2), which determines where walls lie

  Mrt(double shear_rate, double odd_rate, double bulk_rate = 1, double ghost_rate = 1)
      : shear(static_cast<T>(shear_rate)),
        odd(static_cast<T>(odd_rate)),
        bulk(static_cast<T>(bulk_rate)),
        ghost(static_cast<T>(ghost_rate)),
        magic(static_cast<T>((1 / shear_rate - 0.5) * (1 / odd_rate - 0.5))) {}

  /// Returns this collision with another relaxation time of the stress; the position of walls stays the same.
  SLIP_FN Mrt with_tau(T tau) const {
    const T beyond_half = tau - T(0.5);
    Mrt changed = *this;
    changed.shear = T(1) / tau;
    changed.odd = beyond_half / (magic + T(0.5) * beyond_half);
    return changed;
  }

  template <class F = NoForce>
  SLIP_FN void operator()(T (&g)[L::q], const F& force = {}) const {
    const Flow<T> u(moments<L>(g), force);
    const T square = T(1.5) * dot<L>(u.x, u.y, u.z, u.x, u.y, u.z);
    Tensor<T> second = put_right(excess_stress<L>(g, u, force));
    T odd_source = T(0);
    if constexpr (F::acts) {
      // The even part of the force's source, u F + F u, contributes to the stress only.
      add_work<L>(second, T(1) - T(0.5) * ghost, u, force);
      odd_source = T(3) - T(1.5) * odd;
    }
    const T off = T(1.5) * trace<L>(second);
    second = for_projection(second);
    constexpr T w0 = T(L::weight(0));
    g[0] = g[0] - ghost * (g[0] - w0 * (u.excess - u.rho * square)) - w0 * off;
    unrolled<0, (L::q - 1) / 2>([&](auto pair) {
      constexpr int p = 2 * pair() + 1;
      constexpr T w = T(L::weight(p));
      const T cu = along<L, p>(u.x, u.y, u.z);
      const T even = w * (u.excess + u.rho * (T(4.5) * (cu * cu) - square)), uneven = w * u.rho * (T(3) * cu);
      const T plus = ghost * (T(0.5) * (g[p] + g[p + 1]) - even) - w * (projected<p>(second) - off);
      T minus = odd * (T(0.5) * (g[p] - g[p + 1]) - uneven);
      if constexpr (F::acts) minus -= w * (odd_source * along<L, p>(force.x, force.y, force.z));
      g[p] = g[p] - plus - minus;
      g[p + 1] = g[p + 1] - plus + minus;
    });
  }

 private:
  /// Corrects the stress, which was relaxed with the rate `ghost` instead of its own.
  SLIP_FN Tensor<T> put_right(const Tensor<T>& stress) const {
    const T mean = T(1.0 / L::dimensions) * trace<L>(stress);
    const T isotropic = (ghost - bulk) * mean, deviator = ghost - shear;
    Tensor<T> a{};
    a.xx = deviator * (stress.xx - mean) + isotropic;
    a.yy = deviator * (stress.yy - mean) + isotropic;
    a.xy = deviator * stress.xy;
    if constexpr (L::dimensions == 3) {
      a.zz = deviator * (stress.zz - mean) + isotropic;
      a.xz = deviator * stress.xz;
      a.yz = deviator * stress.yz;
    }
    return a;
  }

  /// Multiplies a symmetric tensor a by 9/2 and doubles its off-diagonal components, as projected() needs them.
  SLIP_FN static Tensor<T> for_projection(const Tensor<T>& a) {
    return {T(4.5) * a.xx, T(4.5) * a.yy, T(4.5) * a.zz, T(9) * a.xy, T(9) * a.xz, T(9) * a.yz};
  }

  /// Returns c.a.c for a lattice velocity c and a tensor a whose components off the diagonal are doubled already.
  template <int p>
  SLIP_FN static T projected(const Tensor<T>& a) {
    constexpr int x = L::velocity[p][0], y = L::velocity[p][1], z = L::velocity[p][2];
    T sum = x != 0 ? a.xx : y != 0 ? a.yy : a.zz;
    if constexpr (x != 0 && y != 0) sum += a.yy;
    if constexpr (z != 0 && (x != 0 || y != 0)) sum += a.zz;
    if constexpr (x * y != 0) sum += x * y > 0 ? a.xy : -a.xy;
    if constexpr (x * z != 0) sum += x * z > 0 ? a.xz : -a.xz;
    if constexpr (y * z != 0) sum += y * z > 0 ? a.yz : -a.yz;
    return sum;
  }
};

}  // namespace slipstream::lbm

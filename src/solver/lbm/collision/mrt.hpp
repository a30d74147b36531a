#pragma once
#include "solver/lbm/moments.hpp"

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
/// So each pair relaxes as in TRT, its even part with `ghost`, and the part of it that is stress, of Hermite's form
/// w (9/2 c.S.c - 3/2 tr S), is put right. All rates equal: SRT; shear = bulk = ghost: TRT.
template <class L, class T>
struct Mrt {
  T shear, odd, bulk, ghost;
  T magic;  ///< (1 / shear - 1/2) (1 / odd - 1/2)

  Mrt(double shear_rate, double odd_rate, double bulk_rate = 1, double ghost_rate = 1)
      : shear(static_cast<T>(shear_rate)),
        odd(static_cast<T>(odd_rate)),
        bulk(static_cast<T>(bulk_rate)),
        ghost(static_cast<T>(ghost_rate)),
        magic(static_cast<T>((1 / shear_rate - 0.5) * (1 / odd_rate - 0.5))) {}

  /// The same with another relaxation time of the stress; walls stay where they are.
  SLIP_FN Mrt with_tau(T tau) const {
    const T beyond_half = tau - T(0.5);
    Mrt changed = *this;
    changed.shear = T(1) / tau;
    changed.odd = beyond_half / (magic + T(0.5) * beyond_half);
    return changed;
  }

  SLIP_FN void operator()(T (&g)[L::q]) const {
    const Flow<T> u(mirrored_moments<L>(g));
    T square = u.x * u.x + u.y * u.y;
    if constexpr (L::dimensions == 3) square += u.z * u.z;
    square *= T(1.5);
    const Tensor<T> stress = excess_stress<L>(g, u);
    const T tr = trace<L>(stress);
    const Tensor<T> put_right = correction(stress, tr);
    const T off = T(1.5) * ((ghost - bulk) * tr);
    constexpr T w0 = T(L::weight(0));
    g[0] = g[0] - ghost * (g[0] - w0 * (u.excess - u.rho * square)) - w0 * off;
    unrolled<0, (L::q - 1) / 2>([&](auto pair) {
      constexpr int p = 2 * pair() + 1;
      constexpr T w = T(L::weight(p));
      const T cu = along<L, p>(u.x, u.y, u.z);
      const T even = w * (u.excess + u.rho * (T(4.5) * (cu * cu) - square)), uneven = w * u.rho * (T(3) * cu);
      const T plus = ghost * (T(0.5) * (g[p] + g[p + 1]) - even) - w * (projected<p>(put_right) - off);
      const T minus = odd * (T(0.5) * (g[p] - g[p + 1]) - uneven);
      g[p] = g[p] - plus - minus;
      g[p + 1] = g[p + 1] - plus + minus;
    });
  }

 private:
  /// 9/2 of what the stress relaxes too much with the rate `ghost`; doubled off the diagonal.
  SLIP_FN Tensor<T> correction(const Tensor<T>& stress, T tr) const {
    constexpr T share = T(1.0 / L::dimensions);
    const T mean = share * tr, isotropic = (ghost - bulk) * mean, deviator = ghost - shear;
    Tensor<T> a{};
    a.xx = T(4.5) * (deviator * (stress.xx - mean) + isotropic);
    a.yy = T(4.5) * (deviator * (stress.yy - mean) + isotropic);
    a.xy = T(9) * (deviator * stress.xy);
    if constexpr (L::dimensions == 3) {
      a.zz = T(4.5) * (deviator * (stress.zz - mean) + isotropic);
      a.xz = T(9) * (deviator * stress.xz);
      a.yz = T(9) * (deviator * stress.yz);
    }
    return a;
  }

  /// c.a.c, where a holds its parts off the diagonal doubled.
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

#pragma once
#include "solver/lbm/collision/flow.hpp"

namespace slipstream::lbm {

/// Cumulant collision of D3Q27 (Geier, Schoenherr, Pasquali & Krafczyk 2015) with the paper's default rates. The stress
/// relaxes with `shear` (viscosity (1 / shear - 1/2) / 3), its trace with `bulk` (1 damps sound at once). The paper's
/// terms correct the lattice's defect c^3 = c. All cumulants beyond the stress are set to zero. So only second moments
/// are needed before a collision, and the result is the lattice's image of a Gaussian. Even central moments are
/// products of variances and covariances (Isserlis), odd ones vanish. These are the paper's equations for C_211, C_220
/// and C_222 with zero cumulants. A force shifts the Gaussian by the second half of its velocity.
///
/// Central moments are stored as differences from those of the weights (1, 1/3, 1/9, 1/27 if all orders are even, else
/// 0). Nothing of order 1 is added and subtracted again, so that f32 keeps its digits near rest.
template <class L, class T>
struct Cumulant {
  static_assert(L::q == 27, "the cumulant collision needs the product of three one-dimensional lattices");
  T shear, bulk;

  explicit Cumulant(double shear_rate, double bulk_rate = 1)
      : shear(static_cast<T>(shear_rate)), bulk(static_cast<T>(bulk_rate)) {}

  SLIP_FN Cumulant with_tau(T tau) const {
    Cumulant changed = *this;
    changed.shear = T(1) / tau;
    return changed;
  }

  template <class F = NoForce>
  SLIP_FN void operator()(T (&g)[L::q], const F& force = {}) const {
    Flow<T> u(moments<L>(g), force);
    const Tensor<T> stress = relaxed(excess_stress<L>(g, u, force), u);
    if constexpr (F::acts) {
      const T half = T(0.5) * u.inverse;
      u.x += half * force.x;
      u.y += half * force.y;
      u.z += half * force.z;
    }
    T m[27];
    along_x(m, stress, u);
    unrolled<0, 3>([&](auto x) {
      constexpr int w = x() == 1 ? 24 : 6;
      spread<w, 9 * x(), 3>(m, u.y);
      spread<0, 9 * x() + 1, 3>(m, u.y);
      spread<w / 3, 9 * x() + 2, 3>(m, u.y);
    });
    unrolled<0, 9>([&](auto xy) {
      constexpr int w = (xy() / 3 == 1 ? 4 : 1) * (xy() % 3 == 1 ? 4 : 1);
      spread<w, 3 * xy(), 1>(m, u.z);
    });
    unrolled<0, 27>([&](auto n) {
      constexpr int i = index_of<L>(n() / 9 - 1, n() / 3 % 3 - 1, n() % 3 - 1);
      g[i] = m[n()];
    });
  }

 private:
  /// Returns the part of the stress beyond equilibrium that remains after the collision.
  SLIP_FN Tensor<T> relaxed(const Tensor<T>& s, const Flow<T>& u) const {
    constexpr T third = T(1.0 / 3);
    const T tr = trace<L>(s), mean = third * tr;
    // Rates of strain along the axes follow from the stress.
    const T deviator = T(-1.5) * (shear * u.inverse), isotropic = T(-0.5) * (bulk * u.inverse) * tr;
    const T dx = u.x * u.x * (deviator * (s.xx - mean) + isotropic);
    const T dy = u.y * u.y * (deviator * (s.yy - mean) + isotropic);
    const T dz = u.z * u.z * (deviator * (s.zz - mean) + isotropic);
    const T sum = dx + dy + dz, keep = T(1) - shear;
    const T undo = T(3) * u.rho * (T(1) - T(0.5) * shear);
    const T trace_after = (T(1) - bulk) * mean - u.rho * (T(1) - T(0.5) * bulk) * sum;
    return {keep * (s.xx - mean) - undo * (dx - third * sum) + trace_after,
            keep * (s.yy - mean) - undo * (dy - third * sum) + trace_after,
            keep * (s.zz - mean) - undo * (dz - third * sum) + trace_after,
            keep * s.xy,
            keep * s.xz,
            keep * s.yz};
  }

  /// Writes moments of orders b and c in y and z to m[9 x + 3 b + c]. Here x is 1 plus c_x of the populations.
  SLIP_FN static void along_x(T (&m)[27], const Tensor<T>& s, const Flow<T>& u) {
    constexpr T third = T(1.0 / 3), ninth = T(1.0 / 9);
    // Second cumulants per density: variances less 1/3, and covariances.
    const T a = s.xx * u.inverse, b = s.yy * u.inverse, c = s.zz * u.inverse;
    const T xy = s.xy * u.inverse, xz = s.xz * u.inverse, yz = s.yz * u.inverse;
    const T xy2 = xy * xy, xz2 = xz * xz, yz2 = yz * yz;
    const T pressure = third * u.excess, excess_9 = ninth * u.excess;
    const auto pair = [&](T p, T q, T covariance2) {
      return u.rho * (third * (p + q) + p * q + T(2) * covariance2) + excess_9;
    };
    const T k222 =
        u.rho * (ninth * (a + b + c) + third * (a * b + a * c + b * c) + a * b * c +
                 T(2) * ((third + a) * yz2 + (third + b) * xz2 + (third + c) * xy2) + T(8) * (xy * xz * yz)) +
        T(1.0 / 27) * u.excess;
    const T k211 = u.rho * ((third + a) * yz + T(2) * (xy * xz));
    const T k121 = u.rho * ((third + b) * xz + T(2) * (xy * yz));
    const T k112 = u.rho * ((third + c) * xy + T(2) * (xz * yz));
    spread_even<36, 0>(m, u.excess, pressure + s.xx, u.x);
    spread_even<12, 6>(m, pressure + s.yy, pair(a, b, xy2), u.x);
    spread_even<12, 2>(m, pressure + s.zz, pair(a, c, xz2), u.x);
    spread_even<4, 8>(m, pair(b, c, yz2), k222, u.x);
    spread_even<0, 4>(m, s.yz, k211, u.x);
    spread_odd<3>(m, s.xy, u.x);
    spread_odd<1>(m, s.xz, u.x);
    spread_odd<5>(m, k112, u.x);
    spread_odd<7>(m, k121, u.x);
  }

  /// Converts central moments of orders 0, 1, 2 along one axis to the sums of populations that move by -1, 0, 1. They
  /// lie in m[at], m[at + step], m[at + 2 step]. `weights` / 36: order 0 of the weights in this line.
  template <int weights, int at, int step>
  SLIP_FN static void spread(T (&m)[27], T u) {
    const T zeroth = m[at], first = m[at + step], second = m[at + 2 * step];
    const T whole = weights == 0 ? zeroth : zeroth + T(weights / 36.0);
    const T even = second + T(2) * u * first + u * u * whole, odd = first + u * whole;
    m[at] = T(0.5) * (even - odd);
    m[at + step] = zeroth - even;
    m[at + 2 * step] = T(0.5) * (even + odd);
  }

  /// Converts central moments to populations along x, as spread() does, if the moment of order 1 is zero.
  template <int weights, int at>
  SLIP_FN static void spread_even(T (&m)[27], T zeroth, T second, T u) {
    const T whole = weights == 0 ? zeroth : zeroth + T(weights / 36.0);
    const T even = second + u * u * whole, odd = u * whole;
    m[at] = T(0.5) * (even - odd);
    m[at + 9] = zeroth - even;
    m[at + 18] = T(0.5) * (even + odd);
  }

  /// Converts central moments to populations along x, as spread() does, if those of orders 0 and 2 are zero.
  template <int at>
  SLIP_FN static void spread_odd(T (&m)[27], T first, T u) {
    const T even = T(2) * u * first;
    m[at] = T(0.5) * (even - first);
    m[at + 9] = -even;
    m[at + 18] = T(0.5) * (even + first);
  }
};

}  // namespace slipstream::lbm

#pragma once
#include <cmath>

#include "solver/lbm/collision/force.hpp"
#include "solver/lbm/lattice/moments.hpp"

namespace slipstream::lbm {

/// Density of a cell, its deviation from 1 and its inverse, and the velocity.
template <class T>
struct Flow {
  T excess, rho, inverse, x, y, z;

  template <class F>
  SLIP_FN Flow(Moments<T> m, const F& force) : excess(m.excess), rho(T(1) + m.excess), inverse(T(1) / rho) {
    if constexpr (F::acts) {
      m.x += T(0.5) * force.x;
      m.y += T(0.5) * force.y;
      m.z += T(0.5) * force.z;
    }
    x = m.x * inverse;
    y = m.y * inverse;
    z = m.z * inverse;
  }
};

/// Scalar product c . v with the lattice velocity c of population p.
template <class L, int p, class T>
SLIP_FN T along(T vx, T vy, T vz) {
  constexpr int x = L::velocity[p][0], y = L::velocity[p][1], z = L::velocity[p][2];
  T sum = T(0);
  if constexpr (x != 0) sum = x > 0 ? vx : -vx;
  if constexpr (y != 0) sum = x == 0 ? (y > 0 ? vy : -vy) : (y > 0 ? sum + vy : sum - vy);
  if constexpr (z != 0) sum = x == 0 && y == 0 ? (z > 0 ? vz : -vz) : (z > 0 ? sum + vz : sum - vz);
  return sum;
}

/// Scalar product a . b, without z in two dimensions.
template <class L, class T>
SLIP_FN T dot(T ax, T ay, T az, T bx, T by, T bz) {
  const T sum = ax * bx + ay * by;
  return L::dimensions == 3 ? sum + az * bz : sum;
}

/// A symmetric tensor; its z components are zero in two dimensions.
template <class T>
struct Tensor {
  T xx, yy, zz, xy, xz, yz;
};

template <class L, class T>
SLIP_FN T trace(const Tensor<T>& a) {
  return L::dimensions == 3 ? a.xx + a.yy + a.zz : a.xx + a.yy;
}

/// Adds scale (u F + F u), the source of stress by a force F, to a tensor.
template <class L, class T>
SLIP_FN void add_work(Tensor<T>& s, T scale, const Flow<T>& u, const Force<T>& force) {
  const T fx = scale * force.x, fy = scale * force.y, fz = scale * force.z;
  s.xx += T(2) * (u.x * fx);
  s.yy += T(2) * (u.y * fy);
  s.xy += u.x * fy + u.y * fx;
  if constexpr (L::dimensions == 3) {
    s.zz += T(2) * (u.z * fz);
    s.xz += u.x * fz + u.z * fx;
    s.yz += u.y * fz + u.z * fy;
  }
}

/// Non-equilibrium stress: sum of c c g_i less rho u u and a third of the excess on the diagonal. With a force, half of
/// u F + F u is added. To first order it is -2/3 rho tau S, S the rate of strain and tau the relaxation time of the
/// stress.
template <class L, class T, class F>
SLIP_FN Tensor<T> excess_stress(const T (&g)[L::q], const Flow<T>& u, const F& force) {
  constexpr T third = T(1.0 / 3);
  const T pressure = third * u.excess;
  Tensor<T> s{};
  s.xx = raw_moment<L, 2, 0, 0>(g) - (pressure + u.rho * (u.x * u.x));
  s.yy = raw_moment<L, 0, 2, 0>(g) - (pressure + u.rho * (u.y * u.y));
  s.xy = raw_moment<L, 1, 1, 0>(g) - u.rho * (u.x * u.y);
  if constexpr (L::dimensions == 3) {
    s.zz = raw_moment<L, 0, 0, 2>(g) - (pressure + u.rho * (u.z * u.z));
    s.xz = raw_moment<L, 1, 0, 1>(g) - u.rho * (u.x * u.z);
    s.yz = raw_moment<L, 0, 1, 1>(g) - u.rho * (u.y * u.z);
  }
  if constexpr (F::acts) add_work<L>(s, T(0.5), u, force);
  return s;
}

/// Frobenius norm sqrt(A:A) of the traceless part A of a tensor.
template <class L, class T>
SLIP_FN T traceless_norm(const Tensor<T>& a) {
  const T mean = T(1.0 / L::dimensions) * trace<L>(a);
  const T x = a.xx - mean, y = a.yy - mean;
  T diagonal = x * x + y * y, rest = a.xy * a.xy;
  if constexpr (L::dimensions == 3) {
    const T z = a.zz - mean;
    diagonal += z * z;
    rest += a.xz * a.xz + a.yz * a.yz;
  }
  return std::sqrt(diagonal + T(2) * rest);
}

}  // namespace slipstream::lbm

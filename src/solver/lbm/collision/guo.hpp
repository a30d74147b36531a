#pragma once
#include "solver/lbm/moments.hpp"

namespace slipstream::lbm {

/// Adds half of the source S_i = w_i (3 (c_i - u) + 9 (c_i . u) c_i) . F, u = (sum of c_i g_i + F / 2) / rho.
template <class L, class T>
SLIP_FN void add_half_source(T (&g)[L::q], const Flow<T>& u, T fx, T fy, T fz) {
  T uf = u.x * fx + u.y * fy;
  if constexpr (L::dimensions == 3) uf += u.z * fz;
  constexpr T w0 = T(0.5 * L::weight(0));
  uf *= T(3);
  g[0] -= w0 * uf;
  unrolled<0, (L::q - 1) / 2>([&](auto pair) {
    constexpr int p = 2 * pair() + 1;
    constexpr T w = T(0.5 * L::weight(p));
    const T cu = along<L, p>(u.x, u.y, u.z), cf = along<L, p>(fx, fy, fz);
    const T even = w * (T(9) * (cu * cf) - uf), odd = w * (T(3) * cf);
    g[p] += even + odd;
    g[p + 1] += even - odd;
  });
}

/// A collision under a force per volume (Guo, Zheng & Shi 2002). With half of the source before the collision and half
/// after it, each moment takes up (1 - rate / 2) of its source, as the paper has it, whatever the collision's rates;
/// and the momentum that the collision sees is already rho u. Velocities of the flow are u: (momentum + F / 2) / rho.
template <class L, class T, class Collision>
SLIP_FN void collide_under_force(const Collision& collision, T (&g)[L::q], T fx, T fy, T fz) {
  Moments<T> m = mirrored_moments<L>(g);
  m.x += T(0.5) * fx;
  m.y += T(0.5) * fy;
  m.z += T(0.5) * fz;
  const Flow<T> u(m);
  add_half_source<L>(g, u, fx, fy, fz);
  collision(g);
  add_half_source<L>(g, u, fx, fy, fz);
}

/// The same force in every cell. Goes round an eddy viscosity, not inside: the stress is then measured with the force.
template <class L, class T, class Collision>
struct Guo {
  Collision collision;
  T x, y, z;

  Guo(const Collision& inner, double fx, double fy, double fz)
      : collision(inner), x(static_cast<T>(fx)), y(static_cast<T>(fy)), z(static_cast<T>(fz)) {}

  SLIP_FN void operator()(T (&g)[L::q]) const { collide_under_force<L>(collision, g, x, y, z); }
};

}  // namespace slipstream::lbm

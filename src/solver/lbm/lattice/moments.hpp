#pragma once
// Sums over the populations of one cell, from deviations g_i = f_i - w_i.
#include "solver/lbm/lattice/lattice.hpp"

namespace slipstream::lbm {

/// Density less 1 and momentum of a cell.
template <class T>
struct Moments {
  T excess, x, y, z;
};

constexpr int power(int base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }

/// Monomial c_x^a c_y^b c_z^c of a lattice velocity c.
template <class L>
constexpr int monomial(int i, int a, int b, int c) {
  return power(L::velocity[i][0], a) * power(L::velocity[i][1], b) * power(L::velocity[i][2], c);
}

/// Index of the first set of lattice velocities c, mirror images of one another, with nonzero c_x^a c_y^b c_z^c.
template <class L>
constexpr int first_family(int a, int b, int c) {
  int n = 0;
  while (monomial<L>(L::family[n][0], a, b, c) == 0) ++n;
  return n;
}

/// Sum of g_i c_x^a c_y^b c_z^c, in an order in which mirror images of a cell round alike.
template <class L, int a, int b, int c, class T>
SLIP_FN T raw_moment(const T (&g)[L::q]) {
  constexpr int first = first_family<L>(a, b, c);
  const auto term = [&](auto pair) {
    constexpr int p = pair();
    const T value = (a + b + c) % 2 == 0 ? g[p] + g[p + 1] : g[p] - g[p + 1];
    constexpr bool positive = monomial<L>(p, a, b, c) > 0;
    return positive ? value : -value;
  };
  T sum = g[0];
  unrolled<first, L::families>([&](auto n) {
    constexpr int p0 = L::family[n()][0], p1 = L::family[n()][1], p2 = L::family[n()][2], p3 = L::family[n()][3];
    if constexpr (monomial<L>(p0, a, b, c) != 0) {
      T part = term(std::integral_constant<int, p0>{});
      if constexpr (p1 != 0) part += term(std::integral_constant<int, p1>{});
      if constexpr (p3 != 0) part += term(std::integral_constant<int, p2>{}) + term(std::integral_constant<int, p3>{});
      sum = a + b + c == 0 || n() != first ? sum + part : part;
    }
  });
  return sum;
}

template <class L, class T>
SLIP_FN Moments<T> moments(const T (&g)[L::q]) {
  Moments<T> m{raw_moment<L, 0, 0, 0>(g), raw_moment<L, 1, 0, 0>(g), raw_moment<L, 0, 1, 0>(g), T(0)};
  if constexpr (L::dimensions == 3) m.z = raw_moment<L, 0, 0, 1>(g);
  return m;
}

}  // namespace slipstream::lbm

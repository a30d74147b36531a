// Moments of a cell after SRT, TRT, MRT and cumulant collisions.
#include <gtest/gtest.h>

#include <cmath>

#include "support/collisions.hpp"

namespace slipstream::lbm {
namespace {

/// Applies a pair of collisions, made by `make` for each lattice, to equal random cells; `compare` gets both results.
template <class T, class Make, class Compare>
void let_both_act(const Make& make, const Compare& compare) {
  each_lattice([&](auto lattice) {
    using L = decltype(lattice);
    SCOPED_TRACE(name_of<L>());
    const auto [first, second] = make(lattice);
    RandomCell<L, T> random(0.2);
    for (int n = 0; n < 100; ++n) {
      T a[L::q], b[L::q];
      random.fill(a);
      std::copy(a, a + L::q, b);
      first(a);
      second(b);
      compare(lattice, a, b);
    }
  });
}

constexpr auto nearly_equal = [](auto lattice, const auto& a, const auto& b) {
  ASSERT_LT((difference<decltype(lattice)>(a, b)), 1e-15);
};

TEST(Mrt, OfEqualRatesIsSrt) {
  const auto make = [](auto lattice) {
    using L = decltype(lattice);
    return std::pair(Mrt<L, double>(1.7, 1.7, 1.7, 1.7), Srt<L, double>(1.7));
  };
  let_both_act<double>(make, nearly_equal);
}

TEST(Mrt, OfOneRateForEvenMomentsIsTrt) {
  const auto make = [](auto lattice) {
    using L = decltype(lattice);
    return std::pair(Mrt<L, double>(1.7, 1.2, 1.7, 1.7), Trt<L, double>(1.7, 1.2));
  };
  let_both_act<double>(make, nearly_equal);
}

TEST(Trt, OfEqualRatesIsSrtToTheLastBit) {
  const auto make = [](auto lattice) {
    using L = decltype(lattice);
    return std::pair(Trt<L, float>(1.7, 1.7), Srt<L, float>(1.7));
  };
  let_both_act<float>(make, [](auto lattice, const auto& a, const auto& b) {
    for (int i = 0; i < decltype(lattice)::q; ++i) ASSERT_EQ(a[i], b[i]);
  });
}

/// Sum of g c_a c_b minus that of the equilibrium, in double.
template <class L>
std::array<double, 6> stress_of(const double (&g)[L::q]) {
  const auto m = conserved<L>(g);
  const double rho = 1 + static_cast<double>(m[0]);
  double u[3], s[3][3] = {};
  for (int a = 0; a < 3; ++a) u[a] = static_cast<double>(m[1 + a]) / rho;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      for (int i = 0; i < L::q; ++i) s[a][b] += g[i] * L::velocity[i][a] * L::velocity[i][b];
      s[a][b] -= rho * u[a] * u[b] + (a == b ? static_cast<double>(m[0]) / 3 : 0);
    }
  return {s[0][0], s[1][1], s[2][2], s[0][1], s[0][2], s[1][2]};
}

TEST(Mrt, RelaxesDeviatorAndTraceOfTheStressWithTheirRates) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    SCOPED_TRACE(name_of<L>());
    double g[L::q];
    RandomCell<L, double>(0.2).fill(g);
    const auto before = stress_of<L>(g);
    Mrt<L, double>(1.7, 1.2, 0.9, 1.4)(g);
    const auto after = stress_of<L>(g);
    const int d = L::dimensions;
    double trace_before = 0, trace_after = 0;
    for (int a = 0; a < d; ++a) {
      trace_before += before[a];
      trace_after += after[a];
    }
    EXPECT_NEAR(trace_after, (1 - 0.9) * trace_before, 1e-15);
    for (int a = 0; a < d; ++a)
      EXPECT_NEAR(after[a] - trace_after / d, (1 - 1.7) * (before[a] - trace_before / d), 1e-15) << a;
    for (int m = 3; m < (d == 3 ? 6 : 4); ++m) EXPECT_NEAR(after[m], (1 - 1.7) * before[m], 1e-15) << m;
  });
}

/// Central moment of orders a, b, c of f, in long double.
long double central_moment(const double (&g)[27], int a, int b, int c) {
  const auto m = conserved<D3Q27>(g);
  long double sum = 0, u[3];
  for (int n = 0; n < 3; ++n) u[n] = m[1 + n] / (1 + m[0]);
  for (int i = 0; i < 27; ++i) {
    const int* v = D3Q27::velocity[i];
    sum += (g[i] + static_cast<long double>(D3Q27::weight(i))) * std::pow(v[0] - u[0], a) * std::pow(v[1] - u[1], b) *
           std::pow(v[2] - u[2], c);
  }
  return sum;
}

TEST(Cumulant, LeavesNoCumulantBeyondTheStress) {
  double g[27];
  RandomCell<D3Q27, double>(0.3).fill(g);
  Cumulant<D3Q27, double>(1.7, 0.9)(g);
  const auto k = [&](int a, int b, int c) { return central_moment(g, a, b, c); };
  const long double rho = k(0, 0, 0);
  for (const auto& [a, b, c] : {std::array{1, 2, 0},
                                {2, 1, 0},
                                {1, 0, 2},
                                {2, 0, 1},
                                {0, 1, 2},
                                {0, 2, 1},
                                {1, 1, 1},
                                {1, 2, 2},
                                {2, 1, 2},
                                {2, 2, 1}}) {
    EXPECT_NEAR(static_cast<double>(k(a, b, c)), 0, 1e-16) << a << b << c;
  }
  // C_211, C_220 and C_222 from Geier et al. 2015.
  const auto near_zero = [](long double value) { EXPECT_NEAR(static_cast<double>(value), 0, 1e-16); };
  near_zero(k(2, 1, 1) - (k(2, 0, 0) * k(0, 1, 1) + 2 * k(1, 1, 0) * k(1, 0, 1)) / rho);
  near_zero(k(1, 2, 1) - (k(0, 2, 0) * k(1, 0, 1) + 2 * k(1, 1, 0) * k(0, 1, 1)) / rho);
  near_zero(k(1, 1, 2) - (k(0, 0, 2) * k(1, 1, 0) + 2 * k(1, 0, 1) * k(0, 1, 1)) / rho);
  near_zero(k(2, 2, 0) - (k(2, 0, 0) * k(0, 2, 0) + 2 * k(1, 1, 0) * k(1, 1, 0)) / rho);
  near_zero(k(2, 0, 2) - (k(2, 0, 0) * k(0, 0, 2) + 2 * k(1, 0, 1) * k(1, 0, 1)) / rho);
  near_zero(k(0, 2, 2) - (k(0, 2, 0) * k(0, 0, 2) + 2 * k(0, 1, 1) * k(0, 1, 1)) / rho);
  const long double xy = k(1, 1, 0), xz = k(1, 0, 1), yz = k(0, 1, 1);
  near_zero(k(2, 2, 2) -
            (k(2, 0, 0) * k(0, 2, 2) + k(0, 2, 0) * k(2, 0, 2) + k(0, 0, 2) * k(2, 2, 0) +
             4 * (yz * k(2, 1, 1) + xz * k(1, 2, 1) + xy * k(1, 1, 2))) /
                rho +
            (16 * xy * xz * yz + 4 * (xz * xz * k(0, 2, 0) + yz * yz * k(2, 0, 0) + xy * xy * k(0, 0, 2)) +
             2 * k(2, 0, 0) * k(0, 2, 0) * k(0, 0, 2)) /
                (rho * rho));
}

TEST(Cumulant, RelaxesTheStressAsThePaperWritesIt) {
  double g[27];
  RandomCell<D3Q27, double>(0.3, 5).fill(g);
  const double w1 = 1.7, w2 = 0.9;
  const auto m = conserved<D3Q27>(g);
  const auto k = [&](int a, int b, int c) { return static_cast<double>(central_moment(g, a, b, c)); };
  const double rho = k(0, 0, 0), u = static_cast<double>(m[1]) / rho, v = static_cast<double>(m[2]) / rho,
               w = static_cast<double>(m[3]) / rho;
  const double c200 = k(2, 0, 0), c020 = k(0, 2, 0), c002 = k(0, 0, 2), c110 = k(1, 1, 0);
  const double dx = -w1 / (2 * rho) * (2 * c200 - c020 - c002) - w2 / (2 * rho) * (c200 + c020 + c002 - rho);
  const double dy = dx + 3 * w1 / (2 * rho) * (c200 - c020), dz = dx + 3 * w1 / (2 * rho) * (c200 - c002);
  Cumulant<D3Q27, double>(w1, w2)(g);
  EXPECT_NEAR(k(1, 1, 0), (1 - w1) * c110, 1e-16);
  EXPECT_NEAR(k(2, 0, 0) - k(0, 2, 0), (1 - w1) * (c200 - c020) - 3 * rho * (1 - w1 / 2) * (u * u * dx - v * v * dy),
              1e-15);
  EXPECT_NEAR(k(2, 0, 0) - k(0, 0, 2), (1 - w1) * (c200 - c002) - 3 * rho * (1 - w1 / 2) * (u * u * dx - w * w * dz),
              1e-15);
  EXPECT_NEAR(
      k(2, 0, 0) + k(0, 2, 0) + k(0, 0, 2),
      w2 * rho + (1 - w2) * (c200 + c020 + c002) - 3 * rho * (1 - w2 / 2) * (u * u * dx + v * v * dy + w * w * dz),
      1e-15);
}

}  // namespace
}  // namespace slipstream::lbm

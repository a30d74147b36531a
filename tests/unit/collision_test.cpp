// What each collision does to one cell.
#include "../support/collisions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace slipstream::lbm {
namespace {

/// Density less 1 and momentum, summed in long double.
template <class L, class T>
std::array<long double, 4> conserved(const T (&g)[L::q]) {
  std::array<long double, 4> sum{};
  for (int i = 0; i < L::q; ++i) {
    sum[0] += g[i];
    for (int a = 0; a < 3; ++a) sum[1 + a] += static_cast<long double>(g[i]) * L::velocity[i][a];
  }
  return sum;
}

/// Deviations of the equilibrium of second order in the velocity.
template <class L, class T>
void equilibrium(T (&g)[L::q], double rho, const std::array<double, 3>& u) {
  for (int i = 0; i < L::q; ++i) {
    double cu = 0, uu = 0;
    for (int a = 0; a < 3; ++a) {
      cu += L::velocity[i][a] * u[a];
      uu += u[a] * u[a];
    }
    g[i] = static_cast<T>(L::weight(i) * (rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * uu) - 1));
  }
}

/// Deviations of the equilibrium of the cumulants: in each axis the three populations of variance 1/3 about u.
template <class T>
void product_equilibrium(T (&g)[27], double rho, const std::array<double, 3>& u) {
  for (int i = 0; i < 27; ++i) {
    double f = rho;
    for (int a = 0; a < 3; ++a) {
      const int c = D3Q27::velocity[i][a];
      const double second = 1.0 / 3 + u[a] * u[a];
      f *= c == 0 ? 1 - second : (second + c * u[a]) / 2;
    }
    g[i] = static_cast<T>(f - D3Q27::weight(i));
  }
}

template <class L, class T>
double largest(const T (&g)[L::q]) {
  double most = 0;
  for (const T value : g) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

template <class L, class T>
double difference(const T (&a)[L::q], const T (&b)[L::q]) {
  double most = 0;
  for (int i = 0; i < L::q; ++i) most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

template <class L, class T>
void check_conservation() {
  each_collision<L, T>(0.01, 0.17, [](const std::string& name, auto collision) {
    SCOPED_TRACE(name_of<L>() + " " + name);
    RandomCell<L, T> random(0.2);
    for (int n = 0; n < 1000; ++n) {
      T g[L::q];
      random.fill(g);
      const double limit =
          8 * std::numeric_limits<T>::epsilon() * largest<L>(g) + 1e-3 * std::numeric_limits<T>::epsilon();
      const auto before = conserved<L>(g);
      collision(g);
      const auto after = conserved<L>(g);
      for (int m = 0; m < 4; ++m)
        ASSERT_NEAR(static_cast<double>(after[m] - before[m]), 0, 4 * limit) << "moment " << m;
    }
  });
}

TEST(Collision, KeepsMassAndMomentum) {
  each_lattice([](auto lattice) {
    check_conservation<decltype(lattice), double>();
    check_conservation<decltype(lattice), float>();
  });
}

TEST(Collision, LeavesItsEquilibriumAsItIs) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    each_collision<L, double>(0.01, 0.17, [](const std::string& name, auto collision) {
      SCOPED_TRACE(name_of<L>() + " " + name);
      double g[L::q], before[L::q];
      const std::array<double, 3> u{0.11, -0.07, L::dimensions == 3 ? 0.05 : 0};
      if constexpr (L::q == 27) {
        name.starts_with("cumulant") ? product_equilibrium(g, 1.04, u) : equilibrium<L>(g, 1.04, u);
      } else {
        equilibrium<L>(g, 1.04, u);
      }
      std::copy(g, g + L::q, before);
      collision(g);
      EXPECT_LT((difference<L>(g, before)), 1e-15);
    });
  });
}

TEST(Collision, LeavesRestAsItIsToTheLastBit) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    each_collision<L, float>(0.01, 0.17, [](const std::string& name, auto collision) {
      SCOPED_TRACE(name_of<L>() + " " + name);
      float g[L::q] = {};
      collision(g);
      for (const float value : g) EXPECT_EQ(value, 0.0f);
    });
  });
}

TEST(Mrt, OfEqualRatesIsSrt) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    RandomCell<L, double> random(0.2);
    for (int n = 0; n < 100; ++n) {
      double a[L::q], b[L::q];
      random.fill(a);
      std::copy(a, a + L::q, b);
      Mrt<L, double>(1.7, 1.7, 1.7, 1.7)(a);
      Srt<L, double>(1.7)(b);
      ASSERT_LT((difference<L>(a, b)), 1e-15) << name_of<L>();
    }
  });
}

TEST(Mrt, OfOneRateForEvenMomentsIsTrt) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    RandomCell<L, double> random(0.2);
    for (int n = 0; n < 100; ++n) {
      double a[L::q], b[L::q];
      random.fill(a);
      std::copy(a, a + L::q, b);
      Mrt<L, double>(1.7, 1.2, 1.7, 1.7)(a);
      Trt<L, double>(1.7, 1.2)(b);
      ASSERT_LT((difference<L>(a, b)), 1e-15) << name_of<L>();
    }
  });
}

TEST(Trt, OfEqualRatesIsSrtToTheLastBit) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    RandomCell<L, float> random(0.2);
    for (int n = 0; n < 100; ++n) {
      float a[L::q], b[L::q];
      random.fill(a);
      std::copy(a, a + L::q, b);
      Trt<L, float>(1.7, 1.7)(a);
      Srt<L, float>(1.7)(b);
      for (int i = 0; i < L::q; ++i) ASSERT_EQ(a[i], b[i]);
    }
  });
}

/// Sum of g c_a c_b less that of the equilibrium, in double.
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
  // C_211, C_220 and C_222 as Geier et al. 2015 write them.
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

/// The cell's image in a mirror that turns round the axes whose sign is -1.
template <class L, class T>
void mirror(const T (&g)[L::q], T (&image)[L::q], int sx, int sy, int sz) {
  for (int i = 0; i < L::q; ++i) {
    const int* c = L::velocity[i];
    image[index_of<L>(sx * c[0], sy * c[1], sz * c[2])] = g[i];
  }
}

template <class L, class T, class Collision>
void check_mirror(const Collision& collision, int sx, int sy, int sz) {
  RandomCell<L, T> random(0.2);
  for (int n = 0; n < 200; ++n) {
    T g[L::q], image[L::q], back[L::q];
    random.fill(g);
    mirror<L>(g, image, sx, sy, sz);
    collision(g);
    collision(image);
    mirror<L>(image, back, sx, sy, sz);
    for (int i = 0; i < L::q; ++i) ASSERT_EQ(g[i], back[i]) << "population " << i;
  }
}

TEST(Collision, OfACellSeenInAMirrorKeepsItsBits) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    each_collision<L, float>(0.01, 0.17, [](const std::string& name, auto collision) {
      SCOPED_TRACE(name_of<L>() + " " + name);
      check_mirror<L, float>(collision, -1, -1, L::dimensions == 3 ? -1 : 1);
      // The momentum of SRT and TRT is summed pair by pair: only all axes turned round together keep its bits.
      if (name.starts_with("srt") || name.starts_with("trt")) return;
      check_mirror<L, float>(collision, -1, 1, 1);
      check_mirror<L, float>(collision, 1, -1, 1);
      if (L::dimensions == 3) check_mirror<L, float>(collision, 1, 1, -1);
    });
  });
}

TEST(Guo, CollisionUnderAMirroredForceKeepsItsBits) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    const auto collision = mrt_of<L, float>(0.01);
    const float fx = 0.003f, fy = -0.001f, fz = L::dimensions == 3 ? 0.002f : 0.0f;
    RandomCell<L, float> random(0.2);
    for (int n = 0; n < 200; ++n) {
      float g[L::q], image[L::q], back[L::q];
      random.fill(g);
      mirror<L>(g, image, 1, -1, 1);
      Guo<L, float, Mrt<L, float>>(collision, fx, fy, fz)(g);
      Guo<L, float, Mrt<L, float>>(collision, fx, -fy, fz)(image);
      mirror<L>(image, back, 1, -1, 1);
      for (int i = 0; i < L::q; ++i) ASSERT_EQ(g[i], back[i]) << name_of<L>() << " population " << i;
    }
  });
}

TEST(Guo, AddsTheForceToTheMomentumAndNothingToTheMass) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    each_collision<L, double>(0.01, 0.17, [](const std::string& name, auto collision) {
      SCOPED_TRACE(name_of<L>() + " " + name);
      const std::array<double, 3> force{0.003, -0.001, L::dimensions == 3 ? 0.002 : 0};
      double g[L::q];
      RandomCell<L, double>(0.2).fill(g);
      const auto before = conserved<L>(g);
      Guo<L, double, decltype(collision)>(collision, force[0], force[1], force[2])(g);
      const auto after = conserved<L>(g);
      EXPECT_NEAR(static_cast<double>(after[0] - before[0]), 0, 1e-15);
      for (int a = 0; a < 3; ++a) EXPECT_NEAR(static_cast<double>(after[1 + a] - before[1 + a]), force[a], 1e-15);
    });
  });
}

/// Adds half of Guo's source.
template <class L>
void add_half_source(double (&g)[L::q], const std::array<double, 3>& u, const std::array<double, 3>& force) {
  for (int i = 0; i < L::q; ++i) {
    double cu = 0, source = 0;
    for (int a = 0; a < 3; ++a) cu += L::velocity[i][a] * u[a];
    for (int a = 0; a < 3; ++a) source += (3 * (L::velocity[i][a] - u[a]) + 9 * cu * L::velocity[i][a]) * force[a];
    g[i] += L::weight(i) * source / 2;
  }
}

// By which each moment gets (1 - rate / 2) of its source, whatever the rates, as the paper has it for SRT.
TEST(Guo, ForcesByHalfTheSourceBeforeACollisionAndHalfAfterIt) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    each_collision<L, double>(0.01, 0.17, [](const std::string& name, auto collision) {
      const std::array<double, 3> force{0.003, -0.001, L::dimensions == 3 ? 0.002 : 0};
      double forced[L::q], plain[L::q];
      RandomCell<L, double>(0.2).fill(forced);
      std::copy(forced, forced + L::q, plain);
      const auto m = conserved<L>(plain);
      std::array<double, 3> u;
      for (int a = 0; a < 3; ++a) u[a] = static_cast<double>((m[1 + a] + force[a] / 2) / (1 + m[0]));
      add_half_source<L>(plain, u, force);
      collision(plain);
      add_half_source<L>(plain, u, force);
      collision(forced, Force<double>{force[0], force[1], force[2]});
      // The Gaussian of the cumulants has the terms in u^2 F and F^2, too, that the source lacks.
      const double limit = name.starts_with("cumulant") ? 1e-5 : 1e-15;
      EXPECT_LT((difference<L>(forced, plain)), limit) << name_of<L>() << " " << name;
    });
  });
}

TEST(Smagorinsky, FindsTheEddyViscosityOfAKnownShear) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    SCOPED_TRACE(name_of<L>());
    const double viscosity = 0.002, constant = 0.17, rho = 1.03, shear = 0.03;
    const double tau = 3 * (viscosity + constant * constant * shear) + 0.5;
    // du_x / dy = shear: S_xy = S_yx = shear / 2, |S| = shear, and the stress beyond equilibrium is -2/3 rho tau S.
    const double stress = -2.0 / 3 * rho * tau * shear / 2;
    double g[L::q];
    equilibrium<L>(g, rho, {0.05, -0.02, 0});
    for (int i = 0; i < L::q; ++i) g[i] += L::weight(i) * 9 * L::velocity[i][0] * L::velocity[i][1] * stress;
    const Smagorinsky<L, double, Trt<L, double>> model(trt_of<L, double>(viscosity), viscosity, constant);
    EXPECT_NEAR((model.tau(g) - 0.5) / 3 - viscosity, constant * constant * shear, 1e-15);
  });
}

TEST(Smagorinsky, OfConstantZeroIsTheCollisionItself) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    each_plain_collision<L, double>(0.01, [](const std::string& name, auto collision) {
      double a[L::q], b[L::q];
      RandomCell<L, double>(0.2).fill(a);
      std::copy(a, a + L::q, b);
      collision(a);
      Smagorinsky<L, double, decltype(collision)>(collision, 0.01, 0)(b);
      EXPECT_LT((difference<L>(a, b)), 1e-15) << name_of<L>() << " " << name;
    });
  });
}

TEST(Smagorinsky, KeepsTheMagicNumber) {
  const Trt<D3Q19, double> trt = trt_of<D3Q19, double>(0.01).with_tau(0.71);
  EXPECT_NEAR(1 / trt.omega_plus, 0.71, 1e-15);
  EXPECT_NEAR((1 / trt.omega_plus - 0.5) * (1 / trt.omega_minus - 0.5), 3.0 / 16, 1e-15);
  const Mrt<D3Q19, double> mrt = mrt_of<D3Q19, double>(0.01).with_tau(0.71);
  EXPECT_NEAR((1 / mrt.shear - 0.5) * (1 / mrt.odd - 0.5), 3.0 / 16, 1e-15);
}

// Deviations of 1e-6 of the weights: f_i themselves would keep one digit of them in f32.
TEST(Collision, KeepsTheDigitsOfF32NearRest) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    std::vector<std::array<double, L::q>> exact;
    const auto states = [](auto run) {
      RandomCell<L, float> random(1e-6);
      for (int n = 0; n < 200; ++n) {
        float g[L::q];
        random.fill(g);
        run(g);
      }
    };
    each_collision<L, double>(0.01, 0.17, [&](const std::string&, auto collision) {
      states([&](const float(&start)[L::q]) {
        double g[L::q];
        std::copy(start, start + L::q, g);
        collision(g);
        std::copy(g, g + L::q, exact.emplace_back().begin());
      });
    });
    std::size_t n = 0;
    each_collision<L, float>(0.01, 0.17, [&](const std::string& name, auto collision) {
      states([&](float(&g)[L::q]) {
        const double size = largest<L>(g);
        collision(g);
        for (int i = 0; i < L::q; ++i)
          ASSERT_NEAR(g[i], exact[n][i], 8 * std::numeric_limits<float>::epsilon() * size)
              << name_of<L>() << " " << name;
        ++n;
      });
    });
  });
}

TEST(Lattice, D3Q27IsIsotropicToFourthOrder) {
  using L = D3Q27;
  const auto moment = [](std::initializer_list<int> axes) {
    double sum = 0;
    for (int i = 0; i < L::q; ++i) {
      double term = L::weight(i);
      for (const int a : axes) term *= L::velocity[i][a];
      sum += term;
    }
    return sum;
  };
  EXPECT_NEAR(moment({}), 1, 1e-15);
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      EXPECT_NEAR(moment({a, b}), a == b ? 1.0 / 3 : 0, 1e-15);
      EXPECT_NEAR(moment({a, a, b, b}), a == b ? 1.0 / 3 : 1.0 / 9, 1e-15);
    }
  for (int i = 0; i < L::q; ++i)
    for (int a = 0; a < 3; ++a) EXPECT_EQ(L::velocity[i][a], -L::velocity[opposite_of(i)][a]);
}

TEST(Lattice, FamiliesHoldEveryPairOnceTogetherWithItsMirrorImages) {
  each_lattice([](auto lattice) {
    using L = decltype(lattice);
    std::vector<int> family_of(L::q, -1);
    for (int n = 0; n < L::families; ++n) {
      for (const int pair : L::family[n]) {
        if (pair == 0) continue;
        EXPECT_EQ(family_of[pair], -1) << name_of<L>() << " pair " << pair;
        family_of[pair] = family_of[pair + 1] = n;
      }
    }
    for (int i = 1; i < L::q; ++i) {
      const int* c = L::velocity[i];
      ASSERT_NE(family_of[i], -1) << name_of<L>() << " population " << i;
      EXPECT_EQ(family_of[i], family_of[index_of<L>(-c[0], c[1], c[2])]);
      EXPECT_EQ(family_of[i], family_of[index_of<L>(c[0], -c[1], c[2])]);
      EXPECT_EQ(family_of[i], family_of[index_of<L>(c[0], c[1], -c[2])]);
    }
  });
}

}  // namespace
}  // namespace slipstream::lbm

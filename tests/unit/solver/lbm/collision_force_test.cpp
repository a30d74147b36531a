// Body force and eddy viscosity in one cell.
#include <gtest/gtest.h>

#include <cmath>

#include "support/collisions.hpp"

namespace slipstream::lbm {
namespace {

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

/// Adds half of Guo's source term of a body force to the populations.
template <class L>
void add_half_source(double (&g)[L::q], const std::array<double, 3>& u, const std::array<double, 3>& force) {
  for (int i = 0; i < L::q; ++i) {
    double cu = 0, source = 0;
    for (int a = 0; a < 3; ++a) cu += L::velocity[i][a] * u[a];
    for (int a = 0; a < 3; ++a) source += (3 * (L::velocity[i][a] - u[a]) + 9 * cu * L::velocity[i][a]) * force[a];
    g[i] += L::weight(i) * source / 2;
  }
}

// The source of each moment thus has the factor (1 - rate / 2) at any rates, as Guo's paper derives for SRT.
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
      // The equilibrium of cumulants also contains terms u^2 F and F^2, which the source lacks.
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
    // du_x / dy = shear gives S_xy = S_yx = shear / 2, |S| = shear, and a non-equilibrium stress of -2/3 rho tau S.
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

}  // namespace
}  // namespace slipstream::lbm

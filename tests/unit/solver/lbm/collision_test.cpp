// Conserved quantities of every collision, and properties of the lattices.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/collisions.hpp"

namespace slipstream::lbm {
namespace {

/// Deviations of the equilibrium of cumulants: along each axis three populations with variance 1/3 about u.
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
void check_conservation() {
  each_collision<L, T>(0.01, 0.17, [](const std::string& name, auto collision) {
    SCOPED_TRACE(name_of<L>() + " " + name);
    RandomCell<L, T> random(0.2);
    for (int n = 0; n < 1000; ++n) {
      T g[L::q];
      random.fill(g);
      const double limit = 32 * std::numeric_limits<T>::epsilon() * largest<L>(g);
      const auto before = conserved<L>(g);
      collision(g);
      const auto after = conserved<L>(g);
      for (int m = 0; m < 4; ++m) ASSERT_NEAR(static_cast<double>(after[m] - before[m]), 0, limit) << "moment " << m;
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
      check_mirror<L, float>(collision, -1, 1, 1);
      check_mirror<L, float>(collision, 1, -1, 1);
      if (L::dimensions == 3) check_mirror<L, float>(collision, 1, 1, -1);
    });
  });
}

// Deviations are 1e-6 of the weights; populations f_i themselves would keep one digit of them in f32.
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

// Lattice Boltzmann with ten moments per cell, compared with an explicit population scheme and with exact flows.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "solver/lbm/by_moments/cells.hpp"
#include "solver/lbm/links/links.hpp"
#include "support/expect_error.hpp"
#include "support/lbm_run.hpp"

namespace slipstream::lbm {
namespace {

using L = D3Q19;
using Populations19 = std::array<double, L::q>;

Options box(const Extent& cells, Collision collision, double viscosity = 0.03) {
  Options o;
  o.cells = cells;
  o.periodic = {true, true, true};
  o.representation = Representation::moments;
  o.collision = collision;
  o.precision = DType::f64;
  o.viscosity = viscosity;
  return o;
}

/// Hermite polynomials of second and third order with c_s^2 = 1/3.
double h2(const double* c, int a, int b) { return c[a] * c[b] - (a == b ? 1.0 / 3 : 0); }
// third-order polynomial along a, b and b, for a != b
double h3(const double* c, int a, int b) { return c[a] * (c[b] * c[b] - 1.0 / 3); }

/// Oracle of the collision of populations g_i = f_i - w_i, from the definitions. Adds the series of the equilibrium and
/// (1 - rate) times the non-equilibrium tensor, with its third order by recurrence. Next to a wall the tensor is
/// averaged in time: 3/4 of it plus 1/4 of the previous step's in `last`, which is updated.
using Beyond = std::array<std::array<double, 3>, 3>;
Populations19 collided(const Populations19& g, double rate, bool recursive, Beyond* last = nullptr) {
  double excess = 0, j[3] = {}, a2[3][3] = {};
  for (int i = 0; i < L::q; ++i) {
    const double c[3] = {1.0 * L::velocity[i][0], 1.0 * L::velocity[i][1], 1.0 * L::velocity[i][2]};
    excess += g[i];
    for (int a = 0; a < 3; ++a) {
      j[a] += c[a] * g[i];
      for (int b = 0; b < 3; ++b) a2[a][b] += h2(c, a, b) * g[i];
    }
  }
  const double rho = 1 + excess, u[3] = {j[0] / rho, j[1] / rho, j[2] / rho};
  double left[3][3], beyond[3][3];
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      beyond[a][b] = (1 - rate) * (a2[a][b] - rho * u[a] * u[b]);
      if (last) (*last)[a][b] = beyond[a][b] = 0.75 * beyond[a][b] + 0.25 * (*last)[a][b];
      left[a][b] = rho * u[a] * u[b] + beyond[a][b];
    }
  const auto third = [&](int a, int b) {  // third-order moment a_abb
    return rho * u[a] * u[b] * u[b] + u[a] * beyond[b][b] + 2 * u[b] * beyond[a][b];
  };
  Populations19 out{};
  for (int i = 0; i < L::q; ++i) {
    const double c[3] = {1.0 * L::velocity[i][0], 1.0 * L::velocity[i][1], 1.0 * L::velocity[i][2]};
    double sum = excess;
    for (int a = 0; a < 3; ++a) {
      sum += 3 * c[a] * j[a];
      for (int b = 0; b < 3; ++b) sum += 4.5 * h2(c, a, b) * left[a][b];
      // The sum and the difference of two third-order Hermite polynomials along an axis, orthogonal on D3Q19.
      const int b = (a + 1) % 3, d = (a + 2) % 3;
      if (recursive) {
        sum += 4.5 * 3 * (h3(c, a, b) + h3(c, a, d)) * (third(a, b) + third(a, d));
        sum += 4.5 * (h3(c, a, b) - h3(c, a, d)) * (third(a, b) - third(a, d));
      }
    }
    out[i] = L::weight(i) * sum;
  }
  return out;
}

class Moments10 : public testing::TestWithParam<Collision> {};
INSTANTIATE_TEST_SUITE_P(Lbm, Moments10, testing::Values(Collision::regularised, Collision::recursive),
                         [](const auto& info) { return to_string(info.param); });

/// Reference of the tests: time steps by populations in a box that is periodic, or has walls at rest along y.
void step_as_populations(Collision collision, bool walls) {
  Options o = box({11, 7, 5}, collision);
  o.periodic[1] = !walls;
  HostRun run(o);
  const auto cells = static_cast<std::size_t>(volume(o.cells));
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-0.01, 0.01);
  std::vector<double> start(10 * cells);
  for (double& value : start) value = number(random);
  run.lbm.state()["moments"].write(run.lbm.grid().box(), start.data());
  run.lbm.advance(3);
  const auto found = run.numbers("moments");

  // A collision of rate 0 removes third-order content that the given moments cannot represent.
  std::vector<Populations19> f(cells);
  const bool recursive = collision == Collision::recursive;
  const auto populations_of = [&](const double* m) {
    const double a2[3][3] = {{m[4], m[7], m[8]}, {m[7], m[5], m[9]}, {m[8], m[9], m[6]}};
    Populations19 g{};
    for (int i = 0; i < L::q; ++i) {
      const double c[3] = {1.0 * L::velocity[i][0], 1.0 * L::velocity[i][1], 1.0 * L::velocity[i][2]};
      double sum = m[0];
      for (int a = 0; a < 3; ++a) {
        sum += 3 * c[a] * m[1 + a];
        for (int b = 0; b < 3; ++b) sum += 4.5 * h2(c, a, b) * a2[a][b];
      }
      g[i] = L::weight(i) * sum;
    }
    return g;
  };
  std::vector<Beyond> beyond(cells);
  for (std::size_t n = 0; n < cells; ++n) {
    const Populations19 g = populations_of(&start[10 * n]);
    f[n] = collided(g, 0, recursive);
    collided(g, -1.0 / 3, recursive, &beyond[n]);  // stores the non-equilibrium tensor unscaled: 3/4 (1 - rate) = 1
  }
  const auto& e = o.cells;
  const auto index = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    const auto in = [](std::int64_t p, std::int64_t extent) { return (p + extent) % extent; };
    return static_cast<std::size_t>((in(z, e[2]) * e[1] + in(y, e[1])) * e[0] + in(x, e[0]));
  };
  const double rate = 1 / (3 * o.viscosity + 0.5);
  for (int step = 0; step < 3; ++step) {
    std::vector<Populations19> arrived(cells);
    for (std::int64_t z = 0; z < e[2]; ++z)
      for (std::int64_t y = 0; y < e[1]; ++y)
        for (std::int64_t x = 0; x < e[0]; ++x)
          for (int i = 0; i < L::q; ++i) {
            const std::int64_t from = y - L::velocity[i][1];
            const bool wall = walls && (from < 0 || from >= e[1]);
            arrived[index(x, y, z)][i] = wall ? f[index(x, y, z)][opposite_of(i)]
                                              : f[index(x - L::velocity[i][0], from, z - L::velocity[i][2])][i];
          }
    for (std::int64_t z = 0; z < e[2]; ++z)
      for (std::int64_t y = 0; y < e[1]; ++y)
        for (std::int64_t x = 0; x < e[0]; ++x) {
          const std::size_t n = index(x, y, z);
          const bool beside = walls && (y == 0 || y == e[1] - 1);
          f[n] = collided(arrived[n], rate, recursive, beside ? &beyond[n] : nullptr);
        }
  }
  double difference = 0;
  for (std::size_t n = 0; n < cells; ++n) {
    const Populations19 held = collided(populations_of(&found[10 * n]), 0, recursive);
    for (int i = 0; i < L::q; ++i) difference = std::max(difference, std::abs(held[i] - f[n][i]));
  }
  EXPECT_LT(difference, 1e-16);
  EXPECT_GT(std::abs(f[5][1]), 1e-6);
}

TEST_P(Moments10, StepAsPopulationsThatAreCollidedAndMovedOneByOne) { step_as_populations(GetParam(), false); }

TEST_P(Moments10, StepBesideWallsAsPopulationsThatComeBack) { step_as_populations(GetParam(), true); }

/// Largest relative error of the velocity of a flow between plates.
double poiseuille(std::int64_t n, double tau, Collision collision) {
  Options o = box({4, n, 2}, collision, (tau - 0.5) / 3);
  o.periodic = {true, false, true};
  const double height = static_cast<double>(n), speed = 0.05 * 8 / height;
  o.force = {8 * o.viscosity * speed / (height * height), 0, 0};
  const auto parabola = [&](double y) { return 4 * speed * (y + 0.5) / height * (1 - (y + 0.5) / height); };
  HostRun run(o);
  run.start_from([&](const Vector& x) { return Vector{parabola(x[1]), 0, 0}; });
  // Up to 1e-7 of the speed may change in 100 steps: the slowest flow is then within 1e-5 of its steady state.
  settle(run, speed, 1e-7);
  const auto u = run.numbers("velocity");
  double worst = 0;
  for (std::int64_t y = 0; y < n; ++y)
    worst = std::max(worst, std::abs(u[3 * (y * 4)] - parabola(static_cast<double>(y))));
  return worst / speed;
}

TEST_P(Moments10, FlowBetweenPlatesWithAnErrorOfSecondOrder) {
  for (const double tau : {0.51, 0.6, 1.0}) {
    const double coarse = poiseuille(8, tau, GetParam()), fine = poiseuille(16, tau, GetParam());
    EXPECT_LT(fine, 0.006) << tau;
    EXPECT_NEAR(coarse / fine, 4, 0.2) << tau << ' ' << coarse << ' ' << fine;
  }
}

/// Largest error of a wave that decays under an oscillating plate, relative to the plate's speed.
double couette(std::int64_t n, double tau, Collision collision) {
  Options o = box({4, n, 2}, collision, (tau - 0.5) / 3);
  o.periodic = {true, false, true};
  const double height = static_cast<double>(n), speed = 0.01 * 8 / height, k = 2 * M_PI / height;
  o.walls[Side::y_high] = {speed, 0, 0};
  const auto flow = [&](double y, double steps) {
    const double wave = std::sin(k * (y + 0.5)) * std::exp(-o.viscosity * k * k * steps) / 2;
    return speed * ((y + 0.5) / height + wave);
  };
  HostRun run(o);
  run.start_from([&](const Vector& x) { return Vector{flow(x[1], 0), 0, 0}; });
  const auto steps = static_cast<std::int64_t>(1 / (o.viscosity * k * k));
  run.lbm.advance(steps);
  const auto u = run.numbers("velocity");
  double worst = 0;
  for (std::int64_t y = 0; y < n; ++y)
    worst = std::max(worst, std::abs(u[3 * (y * 4)] - flow(static_cast<double>(y), static_cast<double>(steps))));
  return worst / speed;
}

TEST_P(Moments10, FlowUnderASlidingPlateWithAnErrorOfSecondOrder) {
  for (const double tau : {0.51, 0.6, 1.0}) {
    const double coarse = couette(8, tau, GetParam()), fine = couette(16, tau, GetParam());
    EXPECT_LT(fine, 0.004) << tau;
    EXPECT_GT(coarse / fine, 3.8) << tau << ' ' << coarse << ' ' << fine;
  }
}

TEST_P(Moments10, ShearBetweenPlatesIsExact) {
  Options o = box({8, 9, 3}, GetParam(), 0.2);
  o.periodic = {true, false, true};
  o.walls[Side::y_high] = {0.04, 0, 0};
  HostRun run(o);
  settle(run, 0.04, 1e-12);
  const auto u = run.numbers("velocity");
  for (std::int64_t y = 0; y < 9; ++y)
    EXPECT_NEAR(u[3 * (y * 8)], 0.04 * (static_cast<double>(y) + 0.5) / 9, 1e-10) << y;
}

/// Flow past a sphere between walls, from an inlet to an outlet, with a force and an LES model. At this resolution the
/// collisions differ by some percent where the inlet meets walls: SRT differs from TRT by twice as much as moments.
Options past_a_ball(Representation representation, BoundaryKind outlet) {
  Options o = box({40, 20, 18}, Collision::recursive, 0.04);
  o.representation = representation;
  if (representation == Representation::populations) o.collision = Collision::trt;
  o.periodic = {};
  o.force = {1e-5, 0, 0};
  o.smagorinsky = 0.1;
  o.walls[Side::y_high] = {0.02, 0, 0};
  o.boundaries[Side::x_low] = {BoundaryKind::velocity, {0.04, 0, 0}};
  o.boundaries[Side::x_high] = {outlet, {}, {}, 1, 0.04};
  o.boundaries[Side::z_low] = {BoundaryKind::slip};
  return o;
}

TEST(Moments10AgainstPopulations, AgreeOnVelocitiesLoadsAndEnergyPastABall) {
  for (const BoundaryKind outlet : {BoundaryKind::pressure, BoundaryKind::convective}) {
    std::array<std::vector<double>, 2> velocity;
    std::array<std::vector<Load>, 2> loads;
    std::array<Energy, 2> energy;
    for (const int n : {0, 1}) {
      HostRun run(past_a_ball(n == 0 ? Representation::populations : Representation::moments, outlet));
      run.lbm.set_bodies(Round{{12.3, 10.2, 8.6}, 4.4, true}.surfaces("ball", true));
      run.lbm.advance(250);
      velocity[n] = run.numbers("velocity");
      loads[n] = run.lbm.loads();
      energy[n] = run.lbm.energy();
    }
    double difference = 0, norm = 0;
    for (std::size_t n = 0; n < velocity[0].size(); ++n) {
      difference += std::pow(velocity[1][n] - velocity[0][n], 2);
      norm += std::pow(velocity[0][n], 2);
    }
    EXPECT_LT(std::sqrt(difference / norm), 0.02);
    for (std::size_t n = 0; n < loads[0].size(); ++n)
      EXPECT_NEAR(loads[1][n].force[0], loads[0][n].force[0], 0.1 * std::abs(loads[0].back().force[0]))
          << loads[0][n].name;
    EXPECT_NEAR(energy[1].kinetic, energy[0].kinetic, 0.02 * energy[0].kinetic);
    EXPECT_NEAR(energy[1].dissipation, energy[0].dissipation, 0.08 * energy[0].dissipation);
  }
}

/// Value of one of the ten stored moments after rounding to 16 bits, with all other moments zero.
double kept_in_16_bits(int which, double value, float chance = 0) {
  TenMoments<float> m{};
  float* const all[] = {&m.excess, &m.x, &m.y, &m.z, &m.xx, &m.yy, &m.zz, &m.xy, &m.xz, &m.yz};
  m.excess = chance;
  *all[which] = static_cast<float>(value);
  Half words[10];
  store_moments<StoredMomentsF16>(words, 1, m);
  m = load_moments<StoredMomentsF16>(words, 1);
  return *all[which];
}

TEST(Moments10Of16Bits, AreScaledEachByItsOwnRange) {
  const double ranges[] = {2, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
  for (int n = 0; n < 10; ++n)
    for (const double sign : {1.0, -1.0}) {
      const double range = sign * ranges[n], largest = range * 65504 / 65536;
      for (double value = range / 2; std::abs(value) > 1e-4; value /= 2)  // 16 bits hold these powers of two exactly
        EXPECT_EQ(kept_in_16_bits(n, value), value) << n;
      EXPECT_EQ(kept_in_16_bits(n, largest), largest) << n;
      EXPECT_EQ(kept_in_16_bits(n, 1.5 * range), largest) << n << ": what is beyond its range stays finite";
      EXPECT_EQ(kept_in_16_bits(n, range * std::ldexp(1, -40)), range * std::ldexp(1, -40)) << n;
      EXPECT_EQ(kept_in_16_bits(n, range * std::ldexp(1, -42)), 0) << n << ": below the least";
    }
}

TEST(Moments10Of16Bits, AreRoundedByChanceToANeighbourAndKeepTheMean) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> chance(-0.1f, 0.1f);
  for (int n = 1; n < 10; ++n) {
    const double value = n < 4 ? 0.0300123 : 0.0150062, unit = n < 4 ? std::ldexp(1, -16) : std::ldexp(1, -17);
    double sum = 0;
    constexpr int draws = 20000;
    for (int draw = 0; draw < draws; ++draw) {
      const double found = kept_in_16_bits(n, value, chance(random));
      ASSERT_LT(std::abs(found - value), unit) << n;
      sum += found;
    }
    EXPECT_NEAR(sum / draws, value, 4 * 0.5 * unit / std::sqrt(draws)) << n;
  }
}

TEST(Moments10Of16Bits, KeepAFlowToAPartIn300) {
  const auto run_with = [](DType precision) {
    Options o = box({16, 16, 8}, Collision::recursive);
    o.precision = precision;
    HostRun run(o);
    run.lbm.start_from([&](const Box& b) {
      std::vector<std::array<double, 4>> flow;
      for_each_cell(b, [&](const Extent& p) {
        const double x = 2 * M_PI * static_cast<double>(p[0]) / 16, y = 2 * M_PI * static_cast<double>(p[1]) / 16;
        flow.push_back({0, 0.05 * std::sin(x) * std::cos(y), -0.05 * std::cos(x) * std::sin(y), 0});
      });
      return flow;
    });
    run.lbm.advance(50);
    return run.numbers("velocity");
  };
  const auto half = run_with(DType::f16), right = run_with(DType::f64);
  double worst = 0;
  for (std::size_t n = 0; n < right.size(); ++n) worst = std::max(worst, std::abs(half[n] - right[n]));
  EXPECT_LT(worst, 0.05 / 300);
  EXPECT_GT(worst, 0);
}

/// A grid Reynolds number of 10: without averaging beside walls, reflected populations alternate forever.
TEST_P(Moments10, ComeToRestInACavityOfFewCells) {
  const std::int64_t n = 32;
  const double speed = 0.1;
  Options o = box({n, n, 2}, GetParam(), speed / 10);
  o.periodic = {false, false, true};
  o.walls[Side::y_high] = {speed, 0, 0};
  HostRun run(o);
  run.lbm.advance(12000);
  const auto before = run.numbers("velocity");
  run.lbm.advance(1);
  const auto now = run.numbers("velocity");
  double change = 0, most = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    change = std::max(change, std::abs(now[i] - before[i]));
    most = std::max(most, std::abs(now[i]));
  }
  EXPECT_LT(change, 1e-5 * speed);
  EXPECT_GT(most, 0.8 * speed);
  EXPECT_LT(most, 0.95 * speed);
}

TEST(Moments10BetweenWalls, KeepTheMass) {
  Options o = box({17, 12, 9}, Collision::regularised);
  o.periodic = {};
  o.walls[Side::z_high] = {0.05, 0.02, 0};
  HostRun run(o);
  run.lbm.advance(300);
  EXPECT_NEAR(run.lbm.excess_mass(), 0, 1e-10);
  EXPECT_GT(run.lbm.energy().kinetic, 0.01);
}

TEST(Moments10Refuse, WhatTenMomentsCannotDo) {
  const auto told = [](auto change) {
    Options o = box({8, 8, 8}, Collision::recursive);
    change(o);
    return error_of([&] { check(o); });
  };
  const auto refuses = [&](auto change, ErrorCode code, const Facts& facts) {
    expect_error(told(change), code, facts);
  };
  using enum ErrorCode;
  const Fact moments{"given", "moments"}, populations{"given", "populations"};
  for (const Collision c : {Collision::trt, Collision::mrt, Collision::cumulant, Collision::srt})
    refuses([&](Options& o) { o.collision = c; }, unsupported,
            {{"option", "representation"}, moments, {"collision", to_string(c)}});
  refuses([](Options& o) { o.representation = Representation::populations; }, unsupported,
          {{"option", "representation"}, populations, {"collision", to_string(Collision::recursive)}});
  refuses([](Options& o) { o.lattice = Lattice::d3q27; }, unsupported,
          {{"option", "representation"}, moments, {"lattice", "D3Q27"}});
  refuses(
      [](Options& o) {
        o.lattice = Lattice::d2q9;
        o.cells[2] = 1;
      },
      unsupported, {{"option", "representation"}, moments, {"lattice", "D2Q9"}});
  refuses([](Options& o) { o.streaming = Streaming::in_place; }, unsupported, {{"option", "streaming"}});
  refuses([](Options& o) { o.layout = Layout::aos; }, unsupported, {{"option", "layout"}});
  refuses([](Options& o) { o.solids = Solids::sparse; }, unsupported, {{"option", "solids"}});
  refuses(
      [](Options& o) {
        o.tile = {64, 4};
      },
      unsupported, {{"option", "tile"}, {"given", "64 x 4"}, {"cells", "8 x 8 x 8"}});
  refuses(
      [](Options& o) {
        o.tile = {16, 16};
      },
      invalid_argument,
      {{"option", "tile"}, {"given", "16 x 16"}, {"precision", "f64"}, {"choices", "64 x 4, 32 x 8"}});
  refuses(
      [](Options& o) {
        o.precision = DType::f16;
        o.tile = {64, 4};
      },
      invalid_argument,
      {{"option", "tile"}, {"given", "64 x 4"}, {"precision", "f16"}, {"choices", "64 x 8, 32 x 16"}});
  refuses(
      [](Options& o) {
        o.precision = DType::f16;
        o.alignment = 6;
      },
      unsupported, {{"option", "alignment"}, {"given", 6}});
  refuses([](Options& o) { o.chunk = 9; }, invalid_argument, {{"option", "chunk"}, {"given", 9}, {"limit", 8}});
  refuses(
      [](Options& o) {
        o.representation = Representation::populations;
        o.collision = Collision::trt;
        o.chunk = 4;
      },
      unsupported, {{"option", "tile, chunk"}});
  EXPECT_FALSE(told([](Options& o) { o.chunk = 4; }));
}

}  // namespace
}  // namespace slipstream::lbm

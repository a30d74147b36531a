// Boundary conditions, compared with known flows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <slipstream/lbm.hpp>

#include "support/expect_error.hpp"
#include "support/lbm_run.hpp"

namespace slipstream::lbm {
namespace {

class Sides : public FlowByMethod {};
INSTANTIATE_TEST_SUITE_P(Lbm, Sides, testing::ValuesIn(FlowByMethod::all),
                         [](const auto& info) { return info.param.name; });

/// Two-dimensional flows in double precision: by populations of D2Q9, or by moments of D3Q19 with two cells along z.
class FlowInAPlane : public testing::TestWithParam<Method> {
 protected:
  static Options options(double viscosity, std::int64_t x, std::int64_t y) {
    Options o = GetParam().options();
    o.precision = DType::f64;
    o.viscosity = viscosity;
    o.cells = GetParam().cells(x, y);
    o.periodic[2] = !GetParam().flat();
    return o;
  }
};
class ConvectiveSide : public FlowInAPlane {
 protected:
  static double left_of_a_vortex(const Boundary& outlet);
  static double excess_of_a_pushed_channel(const Boundary& outlet, int steps);
};
class PressureDrop : public FlowInAPlane {};
INSTANTIATE_TEST_SUITE_P(Lbm, ConvectiveSide, testing::Values(populations_held, moments_held),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Lbm, PressureDrop, testing::Values(populations_held, moments_held),
                         [](const auto& info) { return info.param.name; });

/// A channel along x between walls in y. The inlet has a parabolic velocity with maximum `top`.
Options channel(Options o, double top) {
  o.periodic = {false, false, o.lattice != Lattice::d2q9};
  Boundary inlet{BoundaryKind::velocity};
  const double height = static_cast<double>(o.cells[1]);
  for (std::int64_t z = 0; z <= 2 * o.cells[2]; ++z)
    for (std::int64_t y = 0; y <= 2 * o.cells[1]; ++y) {
      const double at = static_cast<double>(y) / 2 / height;
      inlet.profile.push_back({4 * top * at * (1 - at), 0, 0});
    }
  o.boundaries[Side::x_low] = inlet;
  o.boundaries[Side::x_high] = {BoundaryKind::pressure};
  return o;
}

/// Largest relative deviation of the velocity from the parabola, from column `first` on.
double error_of_parabola(HostRun& run, double top, int first) {
  const Extent& e = run.lbm.grid().extent();
  const auto velocity = run.numbers("velocity");
  double error = 0;
  for (std::int64_t cell = 0; cell < volume(e); ++cell) {
    if (cell % e[0] < first) continue;
    const double at = (static_cast<double>(cell / e[0] % e[1]) + 0.5) / static_cast<double>(e[1]);
    const Vector expected{4 * top * at * (1 - at), 0, 0};
    for (int a = 0; a < 3; ++a) error = std::max(error, std::abs(velocity[3 * cell + a] - expected[a]) / top);
  }
  return error;
}

TEST_P(Sides, CarriesPoiseuilleFlowFromAVelocityInletToAPressureOutlet) {
  constexpr double top = 0.002;
  Options o = channel(options({30, 12, 2}), top);
  HostRun run(o);
  settle(run, top, 1e-6);
  EXPECT_LT(error_of_parabola(run, top, 0), 0.01);
  // In lattice units pressure is density / 3. In a channel with the peak velocity `top` it falls by 8 viscosity top /
  // height^2 per cell. At the last cell face it is the outlet's pressure.
  const auto density = run.numbers("density");
  const double fall = 3 * 8 * o.viscosity * top / (12.0 * 12.0);
  for (int x = 0; x < 30; ++x) EXPECT_NEAR(density[6 * 30 + x] - 1, fall * (29.5 - x), 0.02 * fall * 30) << x;
}

TEST_P(Sides, KeepsAUniformFlowBetweenSlipSides) {
  const Vector u{0.05, 0, 0};
  Options o = options({9, 7, 5});
  o.boundaries[Side::x_low] = {BoundaryKind::velocity, u};
  o.boundaries[Side::x_high] = {BoundaryKind::pressure};
  for (const Side side : {Side::y_low, Side::y_high, Side::z_low, Side::z_high})
    if (!flat() || side < Side::z_low) o.boundaries[side] = {BoundaryKind::slip};
  HostRun run(o);
  run.start_from([&](const Vector&) { return u; });
  run.lbm.advance(200);
  const auto velocity = run.numbers("velocity");
  for (std::size_t n = 0; n < velocity.size(); ++n) ASSERT_NEAR(velocity[n], u[n % 3], 1e-14) << n;
  for (const double density : run.numbers("density")) ASSERT_NEAR(density, 1, 1e-13);
}

TEST_P(Sides, CarriesAUniformFlowOutOfAConvectiveSide) {
  const Vector u{0.05, 0, 0};
  Options o = options({9, 7, 5});
  o.boundaries[Side::x_low] = {BoundaryKind::velocity, u};
  o.boundaries[Side::x_high] = {BoundaryKind::convective, {}, {}, 1, 0.05};
  for (const Side side : {Side::y_low, Side::y_high, Side::z_low, Side::z_high})
    if (!flat() || side < Side::z_low) o.boundaries[side] = {BoundaryKind::slip};
  HostRun run(o);
  run.start_from([&](const Vector&) { return u; });
  run.lbm.advance(200);
  const auto velocity = run.numbers("velocity");
  for (std::size_t n = 0; n < velocity.size(); ++n) ASSERT_NEAR(velocity[n], u[n % 3], 1e-14) << n;
}

/// Largest deviation from a uniform flow after a vortex has left through the side x+, relative to that of the vortex.
double ConvectiveSide::left_of_a_vortex(const Boundary& outlet) {
  constexpr double speed = 0.05, strength = 0.01, size = 6;
  Options o = options(0.005, 80, 48);
  o.boundaries[Side::x_low] = {BoundaryKind::velocity, {speed, 0, 0}};
  o.boundaries[Side::x_high] = outlet;
  o.boundaries[Side::y_low] = o.boundaries[Side::y_high] = {BoundaryKind::slip};
  HostRun run(o);
  run.start_from([&](const Vector& x) {
    const double dx = (x[0] - 56) / size, dy = (x[1] - 23.5) / size;
    const double f = strength * std::exp(0.5 * (1 - dx * dx - dy * dy));
    return Vector{speed - f * dy, f * dx, 0};
  });
  run.lbm.advance(1200);  // the vortex has travelled 60 cells
  const auto velocity = run.numbers("velocity");
  double largest = 0;
  for (std::size_t n = 0; n < velocity.size(); ++n)
    largest = std::max(largest, std::abs(velocity[n] - (n % 3 == 0 ? speed : 0)));
  return largest / strength;
}

TEST_P(ConvectiveSide, LetsAVortexOut) {
  const double left = left_of_a_vortex({BoundaryKind::convective, {}, {}, 1, 0.05});
  EXPECT_LT(left, 0.05);
  EXPECT_LT(left, left_of_a_vortex({BoundaryKind::pressure}));
}

/// Mean density less 1 in a channel of fluid at rest, after the inlet starts to push.
double ConvectiveSide::excess_of_a_pushed_channel(const Boundary& outlet, int steps) {
  Options o = options(0.1, 40, 4);
  o.boundaries[Side::x_low] = {BoundaryKind::velocity, {0.05, 0, 0}};
  o.boundaries[Side::x_high] = outlet;
  o.boundaries[Side::y_low] = o.boundaries[Side::y_high] = {BoundaryKind::slip};
  HostRun run(o);
  run.lbm.advance(steps);
  return run.lbm.excess_mass() / static_cast<double>(run.lbm.fluid_cells());
}

TEST_P(ConvectiveSide, DrawsTheDensityToThatFarAway) {
  Boundary outlet{BoundaryKind::convective, {}, {}, 1, 0.05};
  EXPECT_NEAR(excess_of_a_pushed_channel(outlet, 3000), 0, 1e-5);
  outlet.density = 0.98;
  EXPECT_NEAR(excess_of_a_pushed_channel(outlet, 3000), -0.02, 1e-5);
}

// The inlet sends a wave through the channel that raises the density by u / c_s.
TEST_P(ConvectiveSide, KeepsAnyDensityWithoutRelaxation) {
  Boundary outlet{BoundaryKind::convective, {}, {}, 1, 0.05};
  outlet.relaxation = 0;
  EXPECT_GT(excess_of_a_pushed_channel(outlet, 3000), 0.05);
}

// Sound crosses the channel in 40 / c_s = 69 steps. The wave reflects at the inlet, so the density may oscillate about
// the far-field value.
TEST_P(ConvectiveSide, TakesAsManyWaysOfSoundAsItSaysToRelaxTheDensity) {
  Boundary outlet{BoundaryKind::convective, {}, {}, 1, 0.05};
  outlet.relaxation = 0;
  const double unrelaxed = excess_of_a_pushed_channel(outlet, 3000);
  for (const double relaxation : {0.05, 0.1, 0.25}) {
    outlet.relaxation = relaxation;
    const auto left_after = [&](double ways) {
      return excess_of_a_pushed_channel(outlet, static_cast<int>(ways / relaxation * 40 * std::sqrt(3.0))) / unrelaxed;
    };
    EXPECT_GT(left_after(0.5), 0.3) << relaxation;
    EXPECT_NEAR(left_after(4), 0, 0.05) << relaxation;
  }
}

/// The velocity along the outlet starts 1 % too high. Each time step lowers it by less than one digit of f16.
TEST_P(ConvectiveSide, LetsAStepOfTheVelocityOutInF16) {
  const Vector u{0.02, 0.05, 0};
  Options o = GetParam().options();
  o.lattice = Lattice::d3q19;
  o.precision = DType::f16;
  o.viscosity = 0.02;
  o.cells = {12, 8, 8};
  o.periodic = {false, true, true};
  o.boundaries[Side::x_low] = {BoundaryKind::velocity, u};
  o.boundaries[Side::x_high] = {BoundaryKind::convective, {}, {}, 1, u[0]};
  HostRun run(o);
  run.start_from([&](const Vector&) { return Vector{u[0], 1.01 * u[1], 0}; });
  run.lbm.advance(2000);
  double sum = 0;
  std::int64_t count = 0;
  for (int sample = 0; sample < 20; ++sample) {
    run.lbm.advance(50);
    const auto velocity = run.numbers("velocity");
    for (std::size_t cell = 11; 3 * cell < velocity.size(); cell += 12, ++count) sum += velocity[3 * cell + 1];
  }
  // If cells store moments, the inlet lacks third-order terms: u_y at the outlet over that at the inlet is 0.9989.
  EXPECT_NEAR(sum / static_cast<double>(count) / u[1], GetParam().moments() ? 0.9989 : 1, 0.002);
}

TEST_P(Sides, ADropOfThePressureDrivesTheParabolaOfAForce) {
  Options o = options({20, 12, 3});
  o.periodic = {true, false, !flat()};
  const double top = 0.002, gradient = 8 * o.viscosity * top / (12.0 * 12.0);
  o.density_drop[0] = 3 * gradient * 20;
  HostRun run(o);
  settle(run, top, 1e-7);
  EXPECT_LT(error_of_parabola(run, top, 0), moments() ? 0.008 : 0.005);
  // The density falls linearly; its mean follows from the total mass.
  const auto density = run.numbers("density");
  for (int x = 0; x < 20; ++x) EXPECT_NEAR(density[6 * 20 + x] - 1, 3 * gradient * (9.5 - x), 1e-3 * o.density_drop[0]);
  EXPECT_NEAR(run.lbm.excess_mass(), 0, 1e-11);
}

/// The pressure drop adds about one unit in the last digit of f16 to populations at the periodic boundary.
TEST_P(PressureDrop, DrivesTheFlowThatItShallInF16) {
  constexpr double top = 0.02, height = 16, mean = 2 * top / 3;
  Options o = GetParam().options();
  o.lattice = Lattice::d3q19;
  o.precision = DType::f16;
  o.viscosity = 0.02;
  o.cells = {2, 16, 4};
  o.periodic = {true, false, true};
  o.density_drop[0] = 3 * 2 * 8 * o.viscosity * top / (height * height);
  HostRun run(o);
  run.start_from([](const Vector& x) {
    const double at = (x[1] + 0.5) / height;
    return Vector{4 * top * at * (1 - at), 0, 0};
  });
  run.lbm.advance(20000);
  double sum = 0;
  std::int64_t count = 0;
  for (int sample = 0; sample < 40; ++sample) {
    run.lbm.advance(250);
    const auto velocity = run.numbers("velocity");
    for (std::size_t n = 0; n < velocity.size(); n += 3, ++count) sum += velocity[n];
  }
  EXPECT_NEAR(sum / static_cast<double>(count) / mean, 1, 0.01);
}

TEST_P(PressureDrop, DrivesAFlowRoundABodyAsAForceDoes) {
  const auto flow = [](bool drop) {
    Options o = options(0.1, 24, 16);
    o.periodic[0] = o.periodic[1] = true;
    (drop ? o.density_drop : o.force)[0] = drop ? 3 * 1e-6 * 24 : 1e-6;
    HostRun run(o);
    const Round across_the_seam{{23.2, 7.6, 0}, 4.3, false, false, {24, 0, 0}};
    run.lbm.set_bodies(across_the_seam.surfaces("cylinder", true));
    run.lbm.advance(6000);
    return run.numbers("velocity");
  };
  const auto driven = flow(false), dropped = flow(true);
  const double top = *std::max_element(driven.begin(), driven.end());
  for (std::size_t n = 0; n < driven.size(); ++n) ASSERT_NEAR(dropped[n], driven[n], 0.005 * top) << n;
}

// The flow along a slip side equals half of the flow between walls at twice the distance. Populations agree to the last
// bit. Moments average the non-equilibrium part beside walls, so they agree only when the flow is steady.
TEST_P(Sides, MirrorsAFlowInASlipSide) {
  const auto flow = [&](std::int64_t height, bool mirrored) {
    Options o = options({6, height, 4});
    o.periodic = {true, false, !flat()};
    o.force = {1e-5, 0, 0};
    if (mirrored) o.boundaries[Side::y_high] = {BoundaryKind::slip};
    HostRun run(o);
    run.lbm.advance(moments() ? 6000 : 150);
    return run.numbers("velocity");
  };
  const auto half = flow(5, true), whole = flow(10, false);
  const std::int64_t layers = flat() ? 1 : 4;
  for (std::int64_t z = 0; z < layers; ++z)
    for (std::int64_t n = 0; n < 5 * 6 * 3; ++n)
      ASSERT_NEAR(half[z * 90 + n], whole[z * 180 + n], moments() ? 1e-12 : 0);
  EXPECT_GT(half[4 * 18], 1e-4);
}

TEST(Boundaries, ThatCannotBeAreRefusedWithTheReason) {
  Options good;
  good.cells = {8, 6, 4};
  good.viscosity = 0.1;
  good.boundaries[Side::x_low] = {BoundaryKind::velocity, {0.1, 0, 0}};
  EXPECT_NO_THROW(check(good));
  struct Mistake {
    std::function<void(Options&)> make;
    ErrorCode code;
    Facts facts;
  };
  using enum ErrorCode;
  const Mistake mistakes[] = {
      {[](Options& o) { o.periodic[0] = true; }, unsupported, {{"side", "x-"}, {"option", "periodic"}}},
      {[](Options& o) {
         o.walls[Side::x_low] = {0, 0.1, 0};
       },
       unsupported,
       {{"side", "x-"}, {"option", "walls"}}},
      {[](Options& o) { o.boundaries[Side::x_low].profile.resize(24); },
       mismatch,
       {{"side", "x-"}, {"option", "profile"}, {"given", 24}, {"needed", 117}}},
      {[](Options& o) { o.boundaries[Side::x_low].velocity[1] = NAN; },
       invalid_argument,
       {{"side", "x-"}, {"option", "velocity"}}},
      {[](Options& o) {
         o.boundaries[Side::x_high] = {BoundaryKind::pressure, {}, {}, -1};
       },
       invalid_argument,
       {{"side", "x+"}, {"option", "density"}, {"given", -1}}},
      {[](Options& o) { o.boundaries[Side::x_high] = {BoundaryKind::convective, {}, {}, 1, 0.1, -1}; },
       invalid_argument,
       {{"side", "x+"}, {"option", "relaxation"}, {"given", -1}}},
      {[](Options& o) { o.boundaries[Side::x_high] = {BoundaryKind::convective}; },
       invalid_argument,
       {{"side", "x+"}, {"option", "speed"}}},
      {[](Options& o) {
         o.boundaries[Side::x_high] = o.boundaries[Side::y_high] = {BoundaryKind::convective, {}, {}, 1, 0.1};
       },
       unsupported,
       {{"option", "boundaries"}, {"given", "convective"}}},
      {[](Options& o) {
         o.density_drop = {0.01, 0, 0};
       },
       unsupported,
       {{"option", "density_drop"}, {"axis", "x"}, {"problem", "periodic"}}},
      {[](Options& o) {
         o.periodic[1] = true;
         o.density_drop = {0, 0.01, 0};
       },
       unsupported,
       {{"option", "density_drop"}, {"axis", "y"}, {"side", "x-"}}},
      {[](Options& o) {
         o.boundaries.clear();
         o.periodic[1] = true;
         o.density_drop = {0, 0.6, 0};
       },
       invalid_argument,
       {{"option", "density_drop"}, {"axis", "y"}, {"given", 0.6}, {"limit", 0.5}}},
  };
  for (const Mistake& mistake : mistakes) {
    Options o = good;
    mistake.make(o);
    SCOPED_TRACE(&mistake - mistakes);
    expect_error([&] { check(o); }, mistake.code, mistake.facts);
  }
}

}  // namespace
}  // namespace slipstream::lbm

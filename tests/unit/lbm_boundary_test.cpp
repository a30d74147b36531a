// Sides, bodies and their loads, against flows that are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <slipstream/bodies.hpp>
#include <slipstream/lbm.hpp>

#include "../support/lbm_run.hpp"
#include "../support/machine_rig.hpp"

namespace slipstream::lbm {
namespace {

class EveryLattice : public testing::TestWithParam<Lattice> {
 protected:
  bool flat() const { return GetParam() == Lattice::d2q9; }
  Options options(const Extent& cells) const {
    Options o;
    o.lattice = GetParam();
    o.precision = DType::f64;
    o.viscosity = 0.1;
    o.cells = {cells[0], cells[1], flat() ? 1 : cells[2]};
    return o;
  }
};
INSTANTIATE_TEST_SUITE_P(Lbm, EveryLattice, testing::Values(Lattice::d2q9, Lattice::d3q19, Lattice::d3q27),
                         [](const auto& info) { return to_string(info.param); });

/// Runs until no velocity changes by more than a part of `speed`.
void settle(HostRun& run, double speed, double part = 1e-10) {
  double change = 1;
  for (int s = 0; s < 600 && change > part * speed; ++s) {
    run.lbm.advance(100);
    change = run.lbm.update_macroscopic();
  }
  ASSERT_LE(change, part * speed);
}

/// A channel along x between walls in y, its inlet's velocity a parabola of the given top speed.
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

/// Largest difference of a velocity from the parabola over the top speed, from column `first` on.
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

TEST_P(EveryLattice, CarriesPoiseuilleFlowFromAVelocityInletToAPressureOutlet) {
  constexpr double top = 0.002;
  Options o = channel(options({30, 12, 2}), top);
  HostRun run(o);
  settle(run, top, 1e-6);
  EXPECT_LT(error_of_parabola(run, top, 0), 0.01);
  // Pressure is density / 3 and falls by 8 viscosity top / height^2 a cell, to that of the outlet at the last face.
  const auto density = run.numbers("density");
  const double fall = 3 * 8 * o.viscosity * top / (12.0 * 12.0);
  for (int x = 0; x < 30; ++x) EXPECT_NEAR(density[6 * 30 + x] - 1, fall * (29.5 - x), 0.02 * fall * 30) << x;
}

TEST_P(EveryLattice, KeepsAUniformFlowBetweenSlipSides) {
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

TEST_P(EveryLattice, CarriesAUniformFlowOutOfAConvectiveSide) {
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

/// The largest difference from a uniform flow after a vortex has been carried through the side x+, over that of the
/// vortex.
double left_of_a_vortex(const Boundary& outlet) {
  constexpr double speed = 0.05, strength = 0.01, size = 6;
  Options o;
  o.lattice = Lattice::d2q9;
  o.precision = DType::f64;
  o.viscosity = 0.005;
  o.cells = {80, 48, 1};
  o.boundaries[Side::x_low] = {BoundaryKind::velocity, {speed, 0, 0}};
  o.boundaries[Side::x_high] = outlet;
  o.boundaries[Side::y_low] = o.boundaries[Side::y_high] = {BoundaryKind::slip};
  HostRun run(o);
  run.start_from([&](const Vector& x) {
    const double dx = (x[0] - 56) / size, dy = (x[1] - 23.5) / size;
    const double f = strength * std::exp(0.5 * (1 - dx * dx - dy * dy));
    return Vector{speed - f * dy, f * dx, 0};
  });
  run.lbm.advance(1200);  // 60 cells
  const auto velocity = run.numbers("velocity");
  double largest = 0;
  for (std::size_t n = 0; n < velocity.size(); ++n)
    largest = std::max(largest, std::abs(velocity[n] - (n % 3 == 0 ? speed : 0)));
  return largest / strength;
}

TEST(ConvectiveSide, LetsAVortexOut) {
  const double left = left_of_a_vortex({BoundaryKind::convective, {}, {}, 1, 0.05});
  EXPECT_LT(left, 0.05);
  EXPECT_LT(left, left_of_a_vortex({BoundaryKind::pressure}));
}

/// One of 1 % along the side, of which a step takes less than a digit of f16 out.
TEST(ConvectiveSide, LetsAStepOfTheVelocityOutInF16) {
  const Vector u{0.02, 0.05, 0};
  Options o;
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
  EXPECT_NEAR(sum / static_cast<double>(count) / u[1], 1, 0.002);
}

TEST_P(EveryLattice, ADropOfThePressureDrivesTheParabolaOfAForce) {
  Options o = options({20, 12, 3});
  o.periodic = {true, false, !flat()};
  const double top = 0.002, gradient = 8 * o.viscosity * top / (12.0 * 12.0);
  o.density_drop[0] = 3 * gradient * 20;
  HostRun run(o);
  settle(run, top, 1e-7);
  EXPECT_LT(error_of_parabola(run, top, 0), 0.005);
  // The density falls evenly, and where it begins follows from the mass.
  const auto density = run.numbers("density");
  for (int x = 0; x < 20; ++x) EXPECT_NEAR(density[6 * 20 + x] - 1, 3 * gradient * (9.5 - x), 1e-3 * o.density_drop[0]);
  EXPECT_NEAR(run.lbm.excess_mass(), 0, 1e-11);
}

/// What is added at the seam is about one unit in the last digit of the populations there.
TEST(PressureDrop, DrivesTheFlowThatItShallInF16) {
  constexpr double top = 0.02, height = 16, mean = 2 * top / 3;
  Options o;
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

TEST(PressureDrop, DrivesAFlowRoundABodyAsAForceDoes) {
  const auto flow = [](bool drop) {
    Options o;
    o.lattice = Lattice::d2q9;
    o.precision = DType::f64;
    o.viscosity = 0.1;
    o.cells = {24, 16, 1};
    o.periodic = {true, true, false};
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

// What flows along a slip side is half of what flows between two walls twice as far apart.
TEST_P(EveryLattice, MirrorsAFlowInASlipSideToTheLastBit) {
  const auto flow = [&](std::int64_t height, bool mirrored) {
    Options o = options({6, height, 4});
    o.periodic = {true, false, !flat()};
    o.force = {1e-5, 0, 0};
    if (mirrored) o.boundaries[Side::y_high] = {BoundaryKind::slip};
    HostRun run(o);
    run.lbm.advance(150);
    return run.numbers("velocity");
  };
  const auto half = flow(5, true), whole = flow(10, false);
  const std::int64_t layers = flat() ? 1 : 4;
  for (std::int64_t z = 0; z < layers; ++z)
    for (std::int64_t n = 0; n < 5 * 6 * 3; ++n) ASSERT_EQ(half[z * 90 + n], whole[z * 180 + n]);
  EXPECT_GT(half[4 * 18], 1e-4);
}

/// Root of the mean square error over the largest speed, of the flow that a force drives along a round pipe in z.
double pipe_error(Lattice lattice, int n, bool with_cuts) {
  Options o;
  o.lattice = lattice;
  o.precision = DType::f64;
  o.cells = {n, n, 2};
  o.periodic = {true, true, true};
  o.viscosity = 0.15;
  const double radius = 0.4 * n, top = 0.02 / n;
  o.force = {0, 0, 4 * o.viscosity * top / (radius * radius)};
  HostRun run(o);
  const Round pipe{{n / 2.0 + 0.13, n / 2.0 - 0.21, 0}, radius, false, true};
  run.lbm.set_bodies(pipe.surfaces("pipe", with_cuts));
  settle(run, top, 1e-6);
  const auto velocity = run.numbers("velocity");
  double sum = 0;
  for (std::int64_t cell = 0; cell < volume(o.cells); ++cell) {
    const Extent c{cell % n, cell / n % n, cell / n / n};
    if (pipe.holds(c)) continue;
    const double error = velocity[3 * cell + 2] / top - pipe.beyond(Round::middle(c)) / (radius * radius);
    sum += error * error;
  }
  return std::sqrt(sum / static_cast<double>(run.lbm.fluid_cells()));
}

TEST(InterpolatedBounceBack, BeatsHalfWayLinksInARoundPipeAndConvergesWithOrderTwo) {
  for (const auto lattice : {Lattice::d3q19, Lattice::d3q27}) {
    SCOPED_TRACE(to_string(lattice));
    const double coarse = pipe_error(lattice, 12, true), fine = pipe_error(lattice, 24, true);
    EXPECT_LT(coarse, 0.03);
    EXPECT_GT(std::log2(coarse / fine), 1.6);
    EXPECT_LT(3 * fine, pipe_error(lattice, 24, false));
  }
}

TEST(InterpolatedBounceBack, OfSurfacesHalfWayIsHalfWayToTheLastBit) {
  Options o;
  o.cells = {10, 9, 8};
  o.viscosity = 0.05;
  o.periodic = {true, true, true};
  o.force = {1e-4, 0, 0};
  const Round ball{{5, 4.5, 4}, 2.4, true};
  const auto flow = [&](bool with_cuts) {
    HostRun run(o);
    Surfaces surfaces = ball.surfaces("ball", with_cuts);
    if (with_cuts)
      surfaces.cuts = [cuts = surfaces.cuts](const Box& box, const std::vector<Direction>& directions) {
        auto all = cuts(box, directions);
        for (Cut& cut : all) cut.q = 0.5f;
        return all;
      };
    run.lbm.set_bodies(surfaces);
    run.lbm.advance(40);
    return run.numbers("velocity");
  };
  EXPECT_EQ(flow(true), flow(false));
}

// A gap of one cell has no second fluid cell behind: the flow through it must stay sound at any distance.
TEST(InterpolatedBounceBack, IsHalfWayInAGapOfOneCell) {
  Options o;
  o.lattice = Lattice::d2q9;
  o.precision = DType::f64;
  o.cells = {4, 3, 1};
  o.periodic = {true, true, false};
  o.viscosity = 0.1;
  o.force = {1e-5, 0, 0};
  const auto gap = [&](float q) {
    HostRun run(o);
    Surfaces walls;
    walls.names = {"walls"};
    walls.solid = [](const Box& box) {
      std::vector<std::uint16_t> all;
      for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y)
        for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x) all.push_back(y == 1 ? 0 : 1);
      return all;
    };
    walls.cuts = [q](const Box& box, const std::vector<Direction>& directions) {
      std::vector<Cut> all;
      for (std::int32_t x = static_cast<std::int32_t>(box.lo[0]); x < box.hi[0]; ++x)
        for (std::size_t d = 0; d < directions.size(); ++d)
          if (directions[d][1] != 0) all.push_back({{x, 1, 0}, static_cast<std::uint16_t>(d), 0, -1, q});
      return all;
    };
    run.lbm.set_bodies(walls);
    settle(run, 1e-5);
    return run.numbers("velocity")[3 * 4];
  };
  EXPECT_EQ(gap(0.01f), gap(0.5f));
  EXPECT_NEAR(gap(0.5f), o.force[0] / (8 * o.viscosity), 1e-3 * o.force[0]);
}

const Load& load_of(const std::vector<Load>& loads, const std::string& name) {
  const auto found = std::find_if(loads.begin(), loads.end(), [&](const Load& l) { return l.name == name; });
  require(found != loads.end(), "no load is called " + name);
  return *found;
}

TEST_P(EveryLattice, WallsBearTheForceThatDrivesAChannel) {
  Options o = options({4, 9, 3});
  o.periodic = {true, false, !flat()};
  o.force = {1e-6, 0, 0};
  HostRun run(o);
  settle(run, 1e-4);
  const auto loads = run.lbm.loads();
  ASSERT_EQ(loads.size(), 2u);
  const double each = 0.5 * 1e-6 * static_cast<double>(run.lbm.fluid_cells());
  for (const char* side : {"y-", "y+"}) {
    EXPECT_NEAR(load_of(loads, side).force[0] / each, 1, 1e-6) << side;
    EXPECT_NEAR(load_of(loads, side).force[2] / each, 0, 1e-6) << side;
  }
}

TEST_P(EveryLattice, MovingWallsBearTheShearOfCouetteFlow) {
  constexpr double speed = 0.02;
  Options o = options({5, 8, 3});
  o.periodic = {true, false, !flat()};
  o.walls[Side::y_high] = {speed, 0, 0};
  HostRun run(o);
  settle(run, speed);
  const double area = 5.0 * static_cast<double>(o.cells[2]), shear = o.viscosity * speed / 8 * area;
  const auto loads = run.lbm.loads();
  EXPECT_NEAR(load_of(loads, "y-").force[0] / shear, 1, 1e-6);
  EXPECT_NEAR(load_of(loads, "y+").force[0] / shear, -1, 1e-6);
}

TEST_P(EveryLattice, LoadsOnACavityAndABodyInItBalance) {
  Options o = options({13, 12, 11});
  o.walls[Side::y_high] = {0.02, 0, flat() ? 0 : 0.01};
  HostRun run(o);
  const Round body{{6.6, 5.4, flat() ? 0.5 : 5.2}, 2.3, true};
  run.lbm.set_bodies(body.surfaces("body", false));
  settle(run, 0.02, 1e-9);
  for (const Vector& about : {Vector{0, 0, 0}, Vector{100, -20, 7}}) {
    Load all;
    double largest = 0;
    for (const Load& load : run.lbm.loads(about))
      for (int a = 0; a < 3; ++a) {
        all.force[a] += load.force[a];
        all.moment[a] += load.moment[a];
        largest = std::max(largest, std::abs(load.moment[a]));
        if (load.name == "body" && a == 0) {
          EXPECT_GT(std::abs(load.force[a]), 1e-5);
        }
      }
    for (int a = 0; a < 3; ++a) {
      EXPECT_NEAR(all.force[a], 0, 1e-8) << a;
      EXPECT_NEAR(all.moment[a] / largest, 0, 1e-6) << a;
    }
  }
}

TEST_P(EveryLattice, ABodyBearsTheForceOnAllOfTheFluid) {
  for (const bool with_cuts : {false, true}) {
    Options o = options({12, 11, 10});
    o.periodic = {true, true, !flat()};
    o.force = {1e-6, 4e-7, 0};
    HostRun run(o);
    const Round body{{6.1, 5.4, flat() ? 0.5 : 5.2}, 2.7, true};
    run.lbm.set_bodies(body.surfaces("body", with_cuts));
    // Interpolated links do not keep the mass, and so the flow never rests to the last digit.
    settle(run, 1e-4, with_cuts ? 1e-5 : 1e-8);
    const Load load = load_of(run.lbm.loads(), "body");
    const double cells = static_cast<double>(run.lbm.fluid_cells());
    for (int a = 0; a < 3; ++a) EXPECT_NEAR(load.force[a] / (cells * 1e-6), o.force[a] / 1e-6, 1e-5) << a;
  }
}

TEST(PeriodicSides, AreNotSeenByTheFlowRoundASphere) {
  struct Found {
    std::vector<double> velocity;
    Load load;
  };
  const Extent cells{18, 14, 12};
  for (const Streaming streaming : {Streaming::two, Streaming::in_place}) {
    const auto flow = [&](const Vector& centre) {
      Options o;
      o.precision = DType::f64;
      o.streaming = streaming;
      o.cells = cells;
      o.periodic = {true, true, true};
      o.viscosity = 0.1;
      o.force = {1e-5, 2e-6, 0};
      MeshDomain domain{{0, 0, 0}, 1, cells, {1, 1, 1}, {true, true, true}};
      const Bodies bodies({{"ball", make_sphere(centre, 3.3, 4)}}, domain);
      HostRun run(o);
      run.lbm.set_bodies(
          {.names = {"ball"},
           .solid = [&](const Box& box) { return bodies.solid(box); },
           .cuts = [&](const Box& box, const auto& directions) { return bodies.cuts(box, directions); }});
      run.lbm.advance(80);
      return Found{run.numbers("velocity"), load_of(run.lbm.loads(), "ball")};
    };
    const Found middle = flow({9.25, 7, 5.875});
    const double top = *std::max_element(middle.velocity.begin(), middle.velocity.end());
    EXPECT_GT(top, 1e-4);
    for (const Extent& moved : {Extent{9, 0, 0}, Extent{-8, 7, 6}}) {
      const Found seam = flow({9.25 + moved[0], 7.0 + moved[1], 5.875 + moved[2]});
      for (std::int64_t n = 0; n < volume(cells); ++n) {
        const Extent cell{n % cells[0], n / cells[0] % cells[1], n / cells[0] / cells[1]};
        Extent to;
        for (int a = 0; a < 3; ++a) to[a] = (cell[a] + moved[a] + cells[a]) % cells[a];
        const std::int64_t there = (to[2] * cells[1] + to[1]) * cells[0] + to[0];
        for (int a = 0; a < 3; ++a)
          ASSERT_NEAR(seam.velocity[3 * there + a], middle.velocity[3 * n + a], 1e-9 * top) << n;
      }
      for (int a = 0; a < 3; ++a)
        EXPECT_NEAR(seam.load.force[a], middle.load.force[a], 1e-9 * middle.load.force[0]) << a;
    }
  }
}

TEST(BodiesThinnerThanALink, AreToldWithTheLinksThroughThem) {
  Options o;
  o.cells = {12, 8, 6};
  o.periodic = {true, true, false};
  o.viscosity = 0.1;
  MeshDomain domain{{0, 0, 0}, 1, o.cells, {1, 1, 1}, {true, true, false}};
  const Bodies bodies({{"ball", make_sphere({9, 4, 3}, 1.7, 4)}, {"plate", make_box({3.6, 2.1, 1.1}, {3.8, 5.9, 4.9})}},
                      domain);
  HostRun run(o);
  EXPECT_EQ(run.lbm.links_through_bodies(), std::vector<std::int64_t>{});
  run.lbm.set_bodies({.names = {"ball", "plate"},
                      .solid = [&](const Box& box) { return bodies.solid(box); },
                      .cuts = [&](const Box& box, const auto& directions) { return bodies.cuts(box, directions); }});
  // Of the 5 links across each place in the plate's plane, those from 4 x 4 centres go through it from face to face.
  EXPECT_EQ(run.lbm.links_through_bodies(), (std::vector<std::int64_t>{0, 5 * 16}));
}

TEST(Loads, LeaveTheFlowAsItIs) {
  Options o;
  o.cells = {9, 8, 7};
  o.viscosity = 0.05;
  o.walls[Side::y_high] = {0.05, 0, 0};
  const auto flow = [&](bool asked) {
    HostRun run(o);
    run.lbm.set_bodies(Round{{4, 4, 3.5}, 1.8, true}.surfaces("ball", true));
    for (int s = 0; s < 20; ++s) {
      run.lbm.advance(1);
      if (asked) {
        EXPECT_EQ(run.lbm.loads().size(), 7u);
      }
    }
    return run.numbers("velocity");
  };
  EXPECT_EQ(flow(true), flow(false));
}

TEST(Boundaries, ThatCannotBeAreRefusedWithTheReason) {
  Options good;
  good.cells = {8, 6, 4};
  good.viscosity = 0.1;
  good.boundaries[Side::x_low] = {BoundaryKind::velocity, {0.1, 0, 0}};
  EXPECT_NO_THROW(check(good));
  struct Mistake {
    std::function<void(Options&)> make;
    const char* says;
  };
  const Mistake mistakes[] = {
      {[](Options& o) { o.periodic[0] = true; }, "side x- has a boundary, and its axis is periodic"},
      {[](Options& o) {
         o.walls[Side::x_low] = {0, 0.1, 0};
       },
       "side x- is a wall and has a boundary"},
      {[](Options& o) { o.boundaries[Side::x_low].profile.resize(24); }, "has 24 velocities and needs 117"},
      {[](Options& o) { o.boundaries[Side::x_low].velocity[1] = NAN; }, "the velocity at side x- must be finite"},
      {[](Options& o) {
         o.boundaries[Side::x_high] = {BoundaryKind::pressure, {}, {}, -1};
       },
       "the density at side x+ must be positive"},
      {[](Options& o) { o.boundaries[Side::x_high] = {BoundaryKind::convective}; },
       "lets the flow out must lie above 0 and be at most 1"},
      {[](Options& o) {
         o.boundaries[Side::x_high] = o.boundaries[Side::y_high] = {BoundaryKind::convective, {}, {}, 1, 0.1};
       },
       "more than one side is convective"},
      {[](Options& o) {
         o.density_drop = {0.01, 0, 0};
       },
       "along x needs that axis to be periodic"},
      {[](Options& o) {
         o.periodic[1] = true;
         o.density_drop = {0, 0.01, 0};
       },
       "both say what drives the flow"},
      {[](Options& o) {
         o.boundaries.clear();
         o.periodic[1] = true;
         o.density_drop = {0, 0.6, 0};
       },
       "may fall by at most 0.5 along y"},
  };
  for (const Mistake& mistake : mistakes) {
    Options o = good;
    mistake.make(o);
    EXPECT_NE(error_of([&] { check(o); }).find(mistake.says), std::string::npos) << mistake.says;
  }
}

}  // namespace
}  // namespace slipstream::lbm

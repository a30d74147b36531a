// Bodies, and loads on bodies and sides, compared with known flows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <slipstream/bodies.hpp>
#include <slipstream/lbm.hpp>

#include "solver/lbm/links/links.hpp"
#include "support/lbm_run.hpp"

namespace slipstream::lbm {
namespace {

class LoadsOn : public FlowByMethod {};
INSTANTIATE_TEST_SUITE_P(Lbm, LoadsOn, testing::ValuesIn(FlowByMethod::all),
                         [](const auto& info) { return info.param.name; });

/// Error of the force-driven flow in a circular pipe along z: root mean square over the largest speed.
double pipe_error(const Method& method, int n, bool with_cuts) {
  Options o = method.options();
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
  for (const Method& method : FlowByMethod::all) {
    if (method.flat()) continue;
    SCOPED_TRACE(method.name);
    const double coarse = pipe_error(method, 12, true), fine = pipe_error(method, 24, true);
    EXPECT_LT(coarse, 0.03);
    EXPECT_GT(std::log2(coarse / fine), 1.6);
    EXPECT_LT(3 * fine, pipe_error(method, 24, false));
  }
}

TEST(InterpolatedBounceBack, OfSurfacesHalfWayIsHalfWayToTheLastBit) {
  const Round ball{{5, 4.5, 4}, 2.4, true};
  const auto flow = [&](const Method& method, bool with_cuts) {
    Options o = method.options();
    o.cells = {10, 9, 8};
    o.viscosity = 0.05;
    o.periodic = {true, true, true};
    o.force = {1e-4, 0, 0};
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
  for (const Method& method : FlowByMethod::all) {
    if (method.flat()) continue;
    EXPECT_EQ(flow(method, true), flow(method, false)) << method.name;
  }
}

// In a gap of one cell there is no second fluid cell behind the first. The flow must stay stable at any wall distance.
TEST(InterpolatedBounceBack, IsHalfWayInAGapOfOneCell) {
  const auto gap = [&](const Method& method, float q) {
    Options o = method.options();
    o.precision = DType::f64;
    o.cells = method.cells(4, 3);
    o.periodic = {true, true, !method.flat()};
    o.viscosity = 0.1;
    o.force = {1e-5, 0, 0};
    HostRun run(o);
    Surfaces walls;
    walls.names = {"walls"};
    walls.solid = [](const Box& box) {
      std::vector<std::uint16_t> all;
      for_each_cell(box, [&](const Extent& p) { all.push_back(p[1] == 1 ? 0 : 1); });
      return all;
    };
    walls.cuts = [q](const Box& box, const std::vector<Direction>& directions) {
      std::vector<Cut> all;
      for_each_cell(box, [&](const Extent& p) {
        if (p[1] != 1) return;
        const auto x = static_cast<std::int32_t>(p[0]), z = static_cast<std::int32_t>(p[2]);
        for (std::size_t d = 0; d < directions.size(); ++d)
          if (directions[d][1] != 0) all.push_back({{x, 1, z}, static_cast<std::uint16_t>(d), 0, -1, q});
      });
      return all;
    };
    run.lbm.set_bodies(walls);
    settle(run, 1e-5);
    return run.numbers("velocity")[3 * 4];
  };
  for (const Method& method : {populations_held, moments_held}) EXPECT_EQ(gap(method, 0.01f), gap(method, 0.5f));
  EXPECT_NEAR(gap(populations_held, 0.5f), 1e-5 / (8 * 0.1), 1e-8);
  EXPECT_GT(gap(moments_held, 0.5f), 0.5e-5 / (8 * 0.1));
}

const Load& load_of(const std::vector<Load>& loads, const std::string& name) {
  const auto found = std::find_if(loads.begin(), loads.end(), [&](const Load& l) { return l.name == name; });
  require(found != loads.end(), "no load is called " + name);
  return *found;
}

TEST_P(LoadsOn, WallsBearTheForceThatDrivesAChannel) {
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

TEST_P(LoadsOn, MovingWallsBearTheShearOfCouetteFlow) {
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

TEST_P(LoadsOn, LoadsOnACavityAndABodyInItBalance) {
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

TEST_P(LoadsOn, ABodyBearsTheForceOnAllOfTheFluid) {
  for (const bool with_cuts : {false, true}) {
    Options o = options({12, 11, 10});
    o.periodic = {true, true, !flat()};
    o.force = {1e-6, 4e-7, 0};
    HostRun run(o);
    const Round body{{6.1, 5.4, flat() ? 0.5 : 5.2}, 2.7, true};
    run.lbm.set_bodies(body.surfaces("body", with_cuts));
    settle(run, 1e-4, 1e-8);
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
  const Method d3q19{"D3Q19", Lattice::d3q19};
  for (const auto& [method, streaming] :
       {std::pair{d3q19, Streaming::two}, {d3q19, Streaming::in_place}, {moments_held, Streaming::two}}) {
    const auto flow = [&](const Vector& centre) {
      Options o = method.options();
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
  // At each position in the plate's plane 5 links cross it. Those from 4 x 4 cell centres cross both faces.
  EXPECT_EQ(run.lbm.links_through_bodies(), (std::vector<std::int64_t>{0, 5 * 16}));
}

TEST_P(LoadsOn, TheSidesAndABodyLeaveTheFlowAsItIs) {
  Options o = options({9, 8, 7});
  o.precision = DType::f32;
  o.walls[Side::y_high] = {0.05, 0, 0};
  const std::size_t surfaces = flat() ? 5 : 7;
  const auto flow = [&](bool asked) {
    HostRun run(o);
    run.lbm.set_bodies(Round{{4, 4, flat() ? 0.5 : 3.5}, 1.8, true}.surfaces("ball", true));
    for (int s = 0; s < 20; ++s) {
      run.lbm.advance(1);
      if (asked) {
        EXPECT_EQ(run.lbm.loads().size(), surfaces);
      }
    }
    return run.numbers("velocity");
  };
  EXPECT_EQ(flow(true), flow(false));
}

}  // namespace
}  // namespace slipstream::lbm

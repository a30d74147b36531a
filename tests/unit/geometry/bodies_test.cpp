#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <tuple>

#include <slipstream/bodies.hpp>
#include <slipstream/device.hpp>
#include <slipstream/error.hpp>

#include "support/expect_error.hpp"
#include "support/mesh_oracle.hpp"

namespace slipstream {
namespace {

using namespace testing_support;

TEST(BodiesSolid, AgreesWithTheWindingNumberForRandomClosedSoups) {
  std::mt19937 random(1);
  const MeshDomain domain = unit_cells({14, 13, 12});
  for (int round = 0; round < 20; ++round) {
    const Mesh mesh = random_soup(random, round % 2 == 1, 12);
    const Bodies bodies({{"soup", mesh}}, domain);
    const auto solid = bodies.solid(whole(domain));
    std::int64_t compared = 0, inside = 0;
    for_each_cell(whole(domain), [&](const Extent& cell, std::size_t place) {
      const Point p = centre_of(domain, cell);
      inside += solid[place];
      if (distance_to(mesh, p) < 1e-9) return;
      ++compared;
      ASSERT_EQ(solid[place] != 0, std::abs(winding(mesh, p)) > 0.5) << "round " << round;
    });
    EXPECT_GT(compared, 1000);
    EXPECT_EQ(bodies.solid_cells(whole(domain)), inside);
  }
}

TEST(BodiesSolid, RandomlyTurnedCubesNeverLeakAndAreFull) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> angle(-180, 180), shift(-0.5, 0.5);
  const MeshDomain domain = unit_cells({24, 24, 24});
  const Mesh cube = make_box({-6, -6, -6}, {6, 6, 6});
  for (int round = 0; round < 100; ++round) {
    // Rotations by multiples of 45 degrees about cell centres put edges and corners exactly on lines.
    const bool special = round % 3 == 0;
    Point turn{angle(random), angle(random), angle(random)}, to{12, 12, 12};
    for (int a = 0; a < 3; ++a) {
      if (special) turn[a] = 45 * std::nearbyint(turn[a] / 45);
      to[a] += special ? 0.5 * (random() % 2) : shift(random);
    }
    const Mesh mesh = transformed(cube, {.rotate = turn, .translate = to});
    const auto solid = Bodies({{"cube", mesh}}, domain).solid(whole(domain));
    const auto& v = mesh.vertices;
    for_each_cell(whole(domain), [&](const Extent& cell, std::size_t place) {
      // The edges from corner 0 are the axes of the cube.
      double outside = -1e300;
      for (const int corner : {1, 2, 4}) {
        const double along = dot(minus(centre_of(domain, cell), v[0]), minus(v[corner], v[0])) / 12;
        outside = std::max({outside, -along, along - 12});
      }
      if (std::abs(outside) < 1e-9) return;
      ASSERT_EQ(solid[place] != 0, outside < 0) << "round " << round;
    });
  }
}

// The number of lattice points in a ball of radius R at a random position deviates by about R; relative to R^3 this is
// second order.
TEST(BodiesSolid, VolumeInCellsConvergesToThatOfASphereWithOrderTwo) {
  std::mt19937 random(8);
  std::uniform_real_distribution<double> place(0.4375, 0.5625);  // coordinates of centres in units of coarse cells
  const auto spread = [&](std::int64_t n) {
    const MeshDomain domain{{0, 0, 0}, 1.0 / static_cast<double>(n), {n, n, n}, {1, 1, 1}};
    constexpr int places = 100;
    double squares = 0;
    for (int i = 0; i < places; ++i) {
      const Mesh ball = make_sphere({place(random), place(random), place(random)}, 0.4, 4);
      const auto cells = static_cast<double>(Bodies({{"ball", ball}}, domain).solid_cells(whole(domain)));
      const double error = cells * std::pow(domain.spacing, 3) / volume(ball) - 1;
      squares += error * error / places;
    }
    return std::sqrt(squares);
  };
  const double coarse = spread(8), fine = spread(32);
  EXPECT_NEAR(std::log2(coarse / fine) / 2, 2, 0.4) << coarse << " " << fine;
}

TEST(BodiesSolid, CentresOnTheSurfaceBelongToTheSideWhereTheBodyBegins) {
  const MeshDomain domain = unit_cells({6, 6, 6});
  const Box box = whole(domain);
  const auto solid = Bodies({{"box", make_box({1.5, 1.5, 1.5}, {4.5, 4.5, 4.5})}}, domain).solid(box);
  for_each_cell(box, [&](const Extent& c, std::size_t place) {
    const bool in = Box{{1, 1, 1}, {4, 4, 4}}.contains(c);
    EXPECT_EQ(solid[place] != 0, in) << c[0] << " " << c[1] << " " << c[2];
  });
}

TEST(BodiesSolid, TheFirstOfOverlappingBodiesHasTheCell) {
  const MeshDomain domain = unit_cells({12, 4, 4});
  const Bodies bodies({{"b", make_box({5, 0, 0}, {12, 4, 4})},
                       {"a", make_box({0, 0, 0}, {8, 4, 4})},
                       {"c", make_box({1, 1, 1}, {11, 3, 3})}},
                      domain);
  const auto solid = bodies.solid({{0, 1, 1}, {12, 2, 2}});
  EXPECT_EQ(solid, (std::vector<std::uint16_t>{2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(bodies.number_of("c"), 2);
  EXPECT_EQ(bodies.solid_cells(whole(domain)), 12 * 16);
  EXPECT_EQ(bodies.centres(whole(domain)), (std::vector<std::int64_t>{7 * 16, 8 * 16, 10 * 4}));
}

TEST(BodiesSolid, ShellsOfOneBodyUniteAndInnerShellsThatFaceInwardsAreHollow) {
  const MeshDomain domain = unit_cells({10, 6, 6});
  const Mesh united = join(make_box({1, 1, 1}, {6, 5, 5}), make_box({4, 2, 2}, {9, 4, 4}));
  EXPECT_EQ(Bodies({{"two", united}}, domain).solid_cells(whole(domain)), 5 * 16 + 3 * 4);
  Mesh inner = make_box({2, 2, 2}, {4, 4, 4});
  for (auto& triangle : inner.triangles) std::swap(triangle[1], triangle[2]);
  const Mesh hollow = join(make_box({1, 1, 1}, {6, 5, 5}), inner);
  EXPECT_EQ(Bodies({{"hollow", hollow}}, domain).solid_cells(whole(domain)), 5 * 16 - 8);
}

TEST(Bodies, FlagsAndCutsDoNotDependOnTheBlocksNorOnTheThreads) {
  std::mt19937 random(5);
  const MeshDomain domain{{-1, 0.3, 2}, 0.037, {61, 47, 53}, {1, 1, 1}};
  const Mesh ring = turned(make_torus({0, 0, 0}, 0.55, 0.2, 40, 20), random, {0.1, 1.1, 3});
  const Bodies bodies(
      {{"ring", ring},
       {"soup", transformed(random_soup(random, true, 40), {.scale = 0.037, .translate = {-0.9, 0.4, 2.1}})}},
      domain);
  const auto solid = bodies.solid(whole(domain));
  const auto cuts = bodies.cuts(whole(domain), all_directions);
  EXPECT_GT(cuts.size(), 1000u);
  for (const int threads : {1, 3}) {
    set_host_threads(threads);
    EXPECT_EQ(bodies.solid(whole(domain)), solid);
    EXPECT_EQ(bodies.cuts(whole(domain), all_directions), cuts);
  }
  set_host_threads(0);
  for (const Extent& block : {Extent{16, 16, 16}, Extent{61, 5, 53}, Extent{7, 47, 11}}) {
    std::vector<std::uint16_t> pieced(solid.size());
    std::vector<Cut> gathered;
    std::int64_t count = 0;
    for (std::int64_t z = 0; z < domain.cells[2]; z += block[2])
      for (std::int64_t y = 0; y < domain.cells[1]; y += block[1])
        for (std::int64_t x = 0; x < domain.cells[0]; x += block[0]) {
          const Box box = intersection(whole(domain), {{x, y, z}, {x + block[0], y + block[1], z + block[2]}});
          const auto part = bodies.solid(box);
          for_each_cell(box, [&](const Extent& c, std::size_t place) {
            pieced[(c[2] * domain.cells[1] + c[1]) * domain.cells[0] + c[0]] = part[place];
          });
          const auto found = bodies.cuts(box, all_directions);
          gathered.insert(gathered.end(), found.begin(), found.end());
          count += bodies.solid_cells(box);
        }
    std::sort(gathered.begin(), gathered.end(), [](const Cut& a, const Cut& b) {
      return std::tie(a.cell[2], a.cell[1], a.cell[0], a.direction) <
             std::tie(b.cell[2], b.cell[1], b.cell[0], b.direction);
    });
    EXPECT_EQ(pieced, solid);
    EXPECT_EQ(gathered, cuts);
    EXPECT_EQ(count, bodies.solid_cells(whole(domain)));
  }
}

TEST(Bodies, BadInputIsNamed) {
  const MeshDomain domain = unit_cells({4, 4, 4});
  const Mesh box = make_box({1, 1, 1}, {2, 2, 2});
  Mesh open = box;
  open.triangles.pop_back();
  expect_error([&] { Bodies({{"car", open}}, domain); }, ErrorCode::unsupported, {{"body", "car"}, {"holes", 1}});
  expect_error(
      [&] {
        Bodies({{"a", box}, {"a", box}}, domain);
      },
      ErrorCode::invalid_argument, {{"option", "name"}, {"body", "a"}});
  expect_error([&] { Bodies({{"", box}}, domain); }, ErrorCode::invalid_argument, {{"option", "name"}});
  expect_error(
      [&] {
        Bodies({{"none", Mesh{}}}, domain);
      },
      ErrorCode::invalid_argument, {{"body", "none"}, {"triangles", 0}});
  const Bodies bodies({{"car", box}, {"road", box}}, domain);
  expect_error([&] { bodies.number_of("kar"); }, ErrorCode::not_found, {{"body", "kar"}, {"choices", "'car', 'road'"}});
  expect_error(
      [&] {
        bodies.cuts(whole(domain), {{0, 0, 0}});
      },
      ErrorCode::invalid_argument, {{"direction", "(0, 0, 0)"}});
  expect_error(
      [&] {
        bodies.cuts(whole(domain), {{1, 2, 0}});
      },
      ErrorCode::invalid_argument, {{"direction", "(1, 2, 0)"}});
}

std::size_t place_in(const Box& box, const Extent& cell) {
  return ((cell[2] - box.lo[2]) * box.extent(1) + cell[1] - box.lo[1]) * box.extent(0) + cell[0] - box.lo[0];
}

TEST(Bodies, AcrossPeriodicSidesAreThoseInTheMiddleMovedRound) {
  std::mt19937 random(12);
  const Mesh middle = turned(make_torus({0, 0, 0}, 3.1, 1.2, 30, 15), random, {6.3, 6.1, 5.9});
  for (const Extent& moved : {Extent{6, 0, 0}, Extent{0, -5, 0}, Extent{7, 6, 5}, Extent{0, 0, 29}}) {
    MeshDomain domain = unit_cells({13, 12, 11});
    for (int a = 0; a < 3; ++a) domain.periodic[a] = moved[a] != 0;
    const Mesh mesh = transformed(middle, {.translate = {1.0 * moved[0], 1.0 * moved[1], 1.0 * moved[2]}});
    const Box box = whole(domain);
    const Bodies before({{"ring", middle}}, domain), after({{"ring", mesh}}, domain);
    const auto solid = before.solid(box), now = after.solid(box);
    const auto target = [&](const Extent& cell) {
      Extent to;
      for (int a = 0; a < 3; ++a) to[a] = (cell[a] + moved[a] + 3 * domain.cells[a]) % domain.cells[a];
      return to;
    };
    for_each_cell(
        box, [&](const Extent& cell, std::size_t place) { EXPECT_EQ(now[place_in(box, target(cell))], solid[place]); });
    std::map<std::pair<Extent, int>, Cut> found;
    for (const Cut& cut : after.cuts(box, all_directions))
      found[{{cut.cell[0], cut.cell[1], cut.cell[2]}, cut.direction}] = cut;
    const auto cuts = before.cuts(box, all_directions);
    EXPECT_EQ(found.size(), cuts.size());
    for (const Cut& cut : cuts) {
      const auto there = found.find({target({cut.cell[0], cut.cell[1], cut.cell[2]}), cut.direction});
      ASSERT_NE(there, found.end());
      EXPECT_NEAR(there->second.q, cut.q, 1e-6);
      EXPECT_EQ(there->second.triangle, cut.triangle);
    }
  }
}

TEST(Bodies, OfTheLengthOfThePeriodGoOnWithoutASeam) {
  MeshDomain domain{{0, 0, 0}, 0.1, {12, 7, 7}, {1, 1, 1}};
  domain.periodic[0] = true;
  const auto cuts_of = [&](double low, double high) {
    return Bodies({{"rod", make_box({low, 0.2, 0.23}, {high, 0.5, 0.5})}}, domain).cuts(whole(domain), all_directions);
  };
  const auto through = cuts_of(-0.7, 1.9), whole_period = cuts_of(0.0, 1.2);
  ASSERT_EQ(whole_period.size(), through.size());
  for (std::size_t n = 0; n < through.size(); ++n) EXPECT_NEAR(whole_period[n].q, through[n].q, 1e-6);
}

TEST(Bodies, LongerThanThePeriodAreRefusedUnlessTheyAreTheSameAtBothSides) {
  MeshDomain domain = unit_cells({12, 20, 20});
  const auto error = [&](const Mesh& mesh, const std::array<bool, 3>& continued) {
    return error_of([&] { Bodies({{"car", mesh, continued}}, domain); });
  };
  const Mesh ball = make_sphere({5, 9, 9}, 7, 3), rod = make_box({-2, 4, 4}, {14.5, 9, 9});
  EXPECT_FALSE(error(ball, {})) << "no side is periodic";
  domain.periodic[0] = true;
  expect_error(error(ball, {}), ErrorCode::unsupported,
               {{"body", "car"}, {"axis", "x"}, {"length", 14}, {"limit", 12}});
  EXPECT_FALSE(error(ball, {true, false, false}));
  EXPECT_FALSE(error(rod, {}));
}

TEST(Bodies, WithoutAnyAllIsFluid) {
  const MeshDomain domain = unit_cells({3, 3, 3});
  const Bodies bodies({}, domain);
  EXPECT_EQ(bodies.solid(whole(domain)), std::vector<std::uint16_t>(27, 0));
  EXPECT_TRUE(bodies.cuts(whole(domain), all_directions).empty());
}

}  // namespace
}  // namespace slipstream

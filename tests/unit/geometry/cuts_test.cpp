#include <gtest/gtest.h>

#include <map>
#include <utility>

#include <slipstream/bodies.hpp>
#include <slipstream/error.hpp>

#include "support/mesh_oracle.hpp"

namespace slipstream {
namespace {

using namespace testing_support;

using LinkMap = std::map<std::pair<Extent, int>, Cut>;
LinkMap by_link(const std::vector<Cut>& cuts) {
  LinkMap result;
  for (const Cut& cut : cuts) result[{{cut.cell[0], cut.cell[1], cut.cell[2]}, cut.direction}] = cut;
  return result;
}

TEST(BodiesCuts, AreWhereSegmentsFirstMeetRandomClosedSoups) {
  std::mt19937 random(3);
  const MeshDomain domain = unit_cells({12, 12, 12});
  std::int64_t compared = 0;
  for (int round = 0; round < 10; ++round) {
    // All tetrahedra have the same orientation: coincident faces of opposite orientation would cancel, and form no
    // surface.
    const Mesh mesh = random_soup(random, false, 12, false);
    const Bodies bodies({{"soup", mesh}}, domain);
    const auto solid = bodies.solid(whole(domain));
    const auto cuts = by_link(bodies.cuts(whole(domain), all_directions));
    for_each_cell(whole(domain), [&](const Extent& cell, std::size_t place) {
      for (int d = 0; d < static_cast<int>(all_directions.size()); ++d) {
        const Direction& c = all_directions[d];
        const double hit =
            solid[place] ? 2 : first_hit(mesh, centre_of(domain, cell), {double(c[0]), double(c[1]), double(c[2])});
        const auto found = cuts.find({cell, d});
        ASSERT_EQ(found != cuts.end(), hit <= 1) << "round " << round << ", hit at " << hit;
        if (hit > 1) continue;
        EXPECT_NEAR(found->second.q, hit, 1e-6);
        ++compared;
      }
    });
  }
  EXPECT_GT(compared, 5000);
}

TEST(BodiesCuts, CoverEveryLinkToASolidCellAndLieOnTheTriangleTheyName) {
  std::mt19937 random(4);
  const MeshDomain domain = unit_cells({13, 12, 14});
  for (int round = 0; round < 60; ++round) {
    const std::vector<Body> meshes{{"a", random_soup(random, true, 12)}, {"b", random_soup(random, true, 12)}};
    const Bodies bodies(meshes, domain);
    const Box wide = grown(whole(domain), {1, 1, 1});
    const auto solid = bodies.solid(wide);
    const auto at = [&](const Extent& c) {
      return solid[((c[2] + 1) * wide.extent(1) + c[1] + 1) * wide.extent(0) + c[0] + 1];
    };
    const auto list = bodies.cuts(whole(domain), all_directions);
    const auto cuts = by_link(list);
    EXPECT_EQ(cuts.size(), list.size()) << "a link twice";
    for_each_cell(whole(domain), [&](const Extent& cell, std::size_t) {
      for (int d = 0; d < static_cast<int>(all_directions.size()); ++d) {
        const Direction& c = all_directions[d];
        const bool needed = at(cell) == 0 && at({cell[0] + c[0], cell[1] + c[1], cell[2] + c[2]}) != 0;
        ASSERT_TRUE(!needed || cuts.contains({cell, d})) << "round " << round;
      }
    });
    for (const Cut& cut : list) {
      const Extent cell{cut.cell[0], cut.cell[1], cut.cell[2]};
      ASSERT_EQ(at(cell), 0) << "a link that starts inside";
      ASSERT_GT(cut.q, 0);
      ASSERT_LE(cut.q, 1);
      Point p = centre_of(domain, cell);
      for (int a = 0; a < 3; ++a) p[a] += cut.q * all_directions[cut.direction][a];
      const Mesh& mesh = meshes[cut.body].mesh;
      ASSERT_LT(cut.triangle < 0 ? distance_to(mesh, p) : distance_to(mesh, cut.triangle, p), 2e-6)
          << "round " << round;
    }
  }
}

TEST(BodiesCuts, OfASphereConvergeToTheAnalyticDistanceWithOrderTwo) {
  const Point centre{10.3, 9.8, 10.1};
  const double radius = 6.37;
  const MeshDomain domain = unit_cells({20, 20, 20});
  std::vector<double> errors;
  for (const int level : {3, 4, 5}) {
    double worst = 0;
    const auto cuts =
        Bodies({{"ball", make_sphere(centre, radius, level)}}, domain).cuts(whole(domain), all_directions);
    EXPECT_GT(cuts.size(), 2000u);
    for (const Cut& cut : cuts) {
      const Point p = minus(centre_of(domain, {cut.cell[0], cut.cell[1], cut.cell[2]}), centre);
      const Direction& c = all_directions[cut.direction];
      const Point d{double(c[0]), double(c[1]), double(c[2])};
      // Link d from cell p cuts the sphere at the fraction q with |p + q d| = radius. Grazing links amplify errors.
      const double a = dot(d, d), b = dot(p, d),
                   root = std::sqrt(std::max(0.0, b * b - a * (dot(p, p) - radius * radius)));
      if (root < 3) continue;
      worst = std::max(worst, std::abs(cut.q - (-b - root) / a));
    }
    errors.push_back(worst);
  }
  EXPECT_NEAR(std::log2(errors[0] / errors[1]), 2, 0.3);
  EXPECT_NEAR(std::log2(errors[1] / errors[2]), 2, 0.3);
  EXPECT_LT(errors[2], 0.01);
}

TEST(BodiesCuts, OfAPlaneAreExact) {
  std::mt19937 random(6);
  const MeshDomain domain{{5, -3, 0.25}, 0.125, {16, 16, 16}, {1, 1, 1}};
  for (int round = 0; round < 20; ++round) {
    const Mesh slab = turned(make_box({-50, -50, -50}, {50, 50, 0}), random, centre_of(domain, {8, 8, 8}));
    // Vertices 4 to 7 are the upper corners of the slab. Only the plane of these is within the domain.
    const Point on = slab.vertices[4];
    const Point n = cross(minus(slab.vertices[5], on), minus(slab.vertices[6], on));
    std::int64_t found = 0;
    for (const Cut& cut : Bodies({{"slab", slab}}, domain).cuts(whole(domain), all_directions)) {
      const Direction& c = all_directions[cut.direction];
      const Point d{domain.spacing * c[0], domain.spacing * c[1], domain.spacing * c[2]};
      const Point p = centre_of(domain, {cut.cell[0], cut.cell[1], cut.cell[2]});
      ASSERT_NEAR(cut.q, dot(minus(on, p), n) / dot(d, n), 1e-6);
      ++found;
    }
    EXPECT_GT(found, 1000);
  }
}

TEST(BodiesCuts, OfAWallThinnerThanALinkAreOnBothOfItsSides) {
  const MeshDomain domain = unit_cells({8, 6, 6});
  const Bodies bodies({{"sheet", make_box({3.6, -10, -10}, {3.8, 20, 20})}}, domain);
  EXPECT_EQ(bodies.solid_cells(whole(domain)), 0);
  const auto cuts = bodies.cuts(whole(domain), all_directions);
  EXPECT_EQ(cuts.size(), 2u * 36 * 9);
  for (const Cut& cut : cuts) {
    const int forth = all_directions[cut.direction][0];
    EXPECT_EQ(cut.cell[0], forth > 0 ? 3 : 4);
    EXPECT_NEAR(cut.q, forth > 0 ? 0.1 : 0.7, 1e-6);
    EXPECT_NE(forth, 0);
    EXPECT_TRUE(cut.through);
  }
}

TEST(BodiesCuts, ThatClipRoundBodiesAndEdgesDoNotGoThroughThem) {
  const MeshDomain domain = unit_cells({14, 14, 14});
  const auto between_fluid_cells = [&](const Mesh& mesh) {
    const Bodies bodies({{"body", mesh}}, domain);
    const Box wide = grown(whole(domain), {1, 1, 1});
    const auto solid = bodies.solid(wide);
    std::int64_t clipped = 0;
    for (const Cut& cut : bodies.cuts(whole(domain), all_directions)) {
      Extent to;
      for (int a = 0; a < 3; ++a) to[a] = cut.cell[a] + all_directions[cut.direction][a];
      EXPECT_FALSE(cut.through);
      clipped += solid[((to[2] + 1) * wide.extent(1) + to[1] + 1) * wide.extent(0) + to[0] + 1] == 0;
    }
    return clipped;
  };
  EXPECT_GT(between_fluid_cells(make_sphere({7.1, 6.8, 7.3}, 3.3, 4)), 0);
  EXPECT_GT(between_fluid_cells(make_box({2.8, 2.8, 2.8}, {9.2, 9.2, 9.2})), 0);
  // Three edges of this tetrahedron are sharp (55 degrees), so that links between fluid cells clip them.
  const Mesh tetrahedron{{{3.1, 3.2, 3.3}, {11.1, 3.2, 3.3}, {3.1, 11.2, 3.3}, {3.1, 3.2, 11.3}},
                         {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}},
                         {0, 0, 0, 0},
                         {"tetrahedron"}};
  EXPECT_GT(between_fluid_cells(tetrahedron), 0);
}

TEST(BodiesCuts, OfFacesThroughCellCentresAreAtTheEndOrTheBeginningOfALink) {
  const MeshDomain domain = unit_cells({9, 9, 9});
  // The faces of this body are at x = 3.5 (cells 3 are solid) and x = 6.5 (cells 6 are fluid).
  const Bodies bodies({{"wall", make_box({3.5, -10, -10}, {6.5, 20, 20})}}, domain);
  for (const Cut& cut : bodies.cuts(whole(domain), {{1, 0, 0}, {-1, 0, 0}, {1, 1, 0}, {-1, 1, 1}})) {
    if (cut.direction == 0 || cut.direction == 2) {
      EXPECT_EQ(cut.cell[0], 2);
      EXPECT_EQ(cut.q, 1);
    } else {
      EXPECT_EQ(cut.cell[0], 6);
      EXPECT_GT(cut.q, 0);
      EXPECT_LT(cut.q, 1e-6);
    }
  }
}

TEST(BodiesCuts, ReachGhostLayersButNotFurther) {
  const MeshDomain domain = unit_cells({4, 4, 4});
  const Bodies bodies({{"box", make_box({-3, -3, -3}, {0, 9, 9})}}, domain, 2);
  EXPECT_EQ(bodies.solid_cells(grown(whole(domain), {2, 2, 2})), 2 * 64);
  EXPECT_EQ(bodies.cuts(whole(domain), {{-1, 0, 0}}).size(), 16u);
  EXPECT_THROW(bodies.solid(grown(whole(domain), {3, 0, 0})), Error);
}

}  // namespace
}  // namespace slipstream

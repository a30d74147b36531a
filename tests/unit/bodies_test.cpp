#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>

#include <slipstream/bodies.hpp>
#include <slipstream/device.hpp>
#include <slipstream/error.hpp>

namespace slipstream {
namespace {

const std::vector<Direction> all_directions = directions(Reach::all);

Point minus(const Point& a, const Point& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
double dot(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double length(const Point& a) { return std::sqrt(dot(a, a)); }

MeshDomain unit_cells(const Extent& cells) { return {{0, 0, 0}, 1, cells, {1, 1, 1}}; }
Box whole(const MeshDomain& domain) { return {{0, 0, 0}, domain.cells}; }

Point centre_of(const MeshDomain& d, const Extent& cell) {
  Point p;
  for (int a = 0; a < 3; ++a) p[a] = d.origin[a] + (static_cast<double>(cell[a]) + 0.5) * d.spacing;
  return p;
}

template <class Visit>
void for_each_cell(const Box& box, const Visit& visit) {
  std::size_t place = 0;
  for (std::int64_t z = box.lo[2]; z < box.hi[2]; ++z)
    for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y)
      for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x) visit(Extent{x, y, z}, place++);
}

Mesh turned(const Mesh& mesh, std::mt19937& random, const Point& to) {
  std::uniform_real_distribution<double> angle(-180, 180);
  return transformed(mesh, {.rotate = {angle(random), angle(random), angle(random)}, .translate = to});
}

// Twice the winding number over 4 pi: the sum of solid angles (van Oosterom & Strackee 1983). Knows nothing of lines.
double winding(const Mesh& mesh, const Point& p) {
  double sum = 0;
  for (const auto& triangle : mesh.triangles) {
    const Point a = minus(mesh.vertices[triangle[0]], p), b = minus(mesh.vertices[triangle[1]], p),
                c = minus(mesh.vertices[triangle[2]], p);
    const double la = length(a), lb = length(b), lc = length(c);
    sum += std::atan2(dot(a, cross(b, c)), la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb);
  }
  return sum / (2 * std::numbers::pi);
}

double distance_to(const Mesh& mesh, std::int32_t triangle, const Point& p) {
  const auto& [ia, ib, ic] = mesh.triangles[triangle];
  const Point &a = mesh.vertices[ia], &b = mesh.vertices[ib], &c = mesh.vertices[ic];
  const Point n = cross(minus(b, a), minus(c, a));
  const bool over = dot(cross(minus(b, a), minus(p, a)), n) >= 0 && dot(cross(minus(c, b), minus(p, b)), n) >= 0 &&
                    dot(cross(minus(a, c), minus(p, c)), n) >= 0;
  if (over && length(n) > 0) return std::abs(dot(minus(p, a), n)) / length(n);
  double nearest = 1e300;
  for (const auto& [s, e] : {std::pair{a, b}, {b, c}, {c, a}}) {
    const Point along = minus(e, s);
    const double square = dot(along, along),
                 t = square > 0 ? std::clamp(dot(minus(p, s), along) / square, 0.0, 1.0) : 0;
    nearest = std::min(nearest, length(minus(p, {s[0] + t * along[0], s[1] + t * along[1], s[2] + t * along[2]})));
  }
  return nearest;
}

double distance_to(const Mesh& mesh, const Point& p) {
  double nearest = 1e300;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    nearest = std::min(nearest, distance_to(mesh, static_cast<std::int32_t>(t), p));
  return nearest;
}

// Where the segment from p along d first meets the mesh, as a part of it; 2 where it does not.
double first_hit(const Mesh& mesh, const Point& p, const Point& d) {
  double nearest = 2;
  for (const auto& [ia, ib, ic] : mesh.triangles) {
    const Point &a = mesh.vertices[ia], e = minus(mesh.vertices[ib], a), f = minus(mesh.vertices[ic], a);
    const Point h = cross(d, f), s = minus(p, a), r = cross(s, e);
    const double det = dot(e, h);
    if (det == 0) continue;
    const double u = dot(s, h) / det, v = dot(d, r) / det, t = dot(f, r) / det;
    if (u >= 0 && v >= 0 && u + v <= 1 && t > 0 && t <= 1) nearest = std::min(nearest, t);
  }
  return nearest;
}

// Tetrahedra with corners drawn from few points, some inside out if mixed: closed, overlapping and touching. On the
// lattice, points lie on cell centres and half-way between them, where lines meet edges and corners exactly.
Mesh random_soup(std::mt19937& random, bool on_lattice, double size, bool mixed = true) {
  std::uniform_real_distribution<double> place(1, size - 1);
  Mesh mesh;
  for (int v = 0; v < 10; ++v) {
    Point p{place(random), place(random), place(random)};
    if (on_lattice)
      for (double& x : p) x = std::nearbyint(2 * x) / 2;
    mesh.vertices.push_back(p);
  }
  std::array<std::int32_t, 10> order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (int tetrahedron = 0; tetrahedron < 4; ++tetrahedron) {
    std::shuffle(order.begin(), order.end(), random);
    auto [a, b, c, d] = std::array{order[0], order[1], order[2], order[3]};
    const auto& v = mesh.vertices;
    const bool outward = dot(minus(v[d], v[a]), cross(minus(v[b], v[a]), minus(v[c], v[a]))) < 0;
    if (!mixed && !outward) std::swap(b, c);
    mesh.triangles.insert(mesh.triangles.end(), {{a, b, c}, {a, c, d}, {a, d, b}, {b, d, c}});
  }
  mesh.part.assign(mesh.triangles.size(), 0);
  mesh.parts = {"soup"};
  return mesh;
}

using LinkMap = std::map<std::pair<Extent, int>, Cut>;
LinkMap by_link(const std::vector<Cut>& cuts) {
  LinkMap result;
  for (const Cut& cut : cuts) result[{{cut.cell[0], cut.cell[1], cut.cell[2]}, cut.direction}] = cut;
  return result;
}

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
    // Turns by multiples of 45 degrees about centres of cells put edges and corners on lines.
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
      // The edges from corner 0 are the cube's own axes.
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

// The number of lattice points in a ball of radius R, at a random place, spreads by about R: relative to R^3, order 2.
TEST(BodiesSolid, VolumeInCellsConvergesToThatOfASphereWithOrderTwo) {
  std::mt19937 random(8);
  std::uniform_real_distribution<double> place(0.4375, 0.5625);  // one of the coarse cells
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

TEST(BodiesCuts, AreWhereSegmentsFirstMeetRandomClosedSoups) {
  std::mt19937 random(3);
  const MeshDomain domain = unit_cells({12, 12, 12});
  std::int64_t compared = 0;
  for (int round = 0; round < 10; ++round) {
    // Outside in and inside out, two faces at one place would cancel, and not be a surface any more.
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
  for (int round = 0; round < 20; ++round) {
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
      // |p + q d| = radius; links that only graze the sphere amplify any error in it.
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
    // The four upper corners are 4 to 7; their plane is all that the domain sees of the slab.
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
  }
}

TEST(BodiesCuts, OfFacesThroughCellCentresAreAtTheEndOrTheBeginningOfALink) {
  const MeshDomain domain = unit_cells({9, 9, 9});
  // Faces at x = 3.5 (cells 3 are solid) and x = 6.5 (cells 6 are fluid).
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

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Bodies, BadInputIsNamed) {
  const MeshDomain domain = unit_cells({4, 4, 4});
  const Mesh box = make_box({1, 1, 1}, {2, 2, 2});
  Mesh open = box;
  open.triangles.pop_back();
  EXPECT_NE(error_of([&] {
              Bodies({{"car", open}}, domain);
            }).find("'car': its surface has no inside: 1 hole"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              Bodies({{"a", box}, {"a", box}}, domain);
            }).find("two bodies are called 'a'"),
            std::string::npos);
  EXPECT_NE(error_of([&] { Bodies({{"", box}}, domain); }).find("no name"), std::string::npos);
  EXPECT_NE(error_of([&] { Bodies({{"none", Mesh{}}}, domain); }).find("no triangles"), std::string::npos);
  const Bodies bodies({{"car", box}, {"road", box}}, domain);
  EXPECT_NE(error_of([&] { bodies.number_of("kar"); }).find("'car', 'road'"), std::string::npos);
  EXPECT_NE(error_of([&] { bodies.cuts(whole(domain), {{0, 0, 0}}); }).find("(0, 0, 0)"), std::string::npos);
  EXPECT_NE(error_of([&] { bodies.cuts(whole(domain), {{1, 2, 0}}); }).find("(1, 2, 0)"), std::string::npos);
}

TEST(Bodies, WithoutAnyAllIsFluid) {
  const MeshDomain domain = unit_cells({3, 3, 3});
  const Bodies bodies({}, domain);
  EXPECT_EQ(bodies.solid(whole(domain)), std::vector<std::uint16_t>(27, 0));
  EXPECT_TRUE(bodies.cuts(whole(domain), all_directions).empty());
}

}  // namespace
}  // namespace slipstream

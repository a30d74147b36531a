#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include <slipstream/error.hpp>
#include <slipstream/mesh.hpp>

#include "support/expect_error.hpp"

namespace slipstream {
namespace {

TEST(MeshFlaws, NameHolesWithTheirPlaceAndSize) {
  Mesh mesh = make_box({0, 0, 0}, {2, 1, 1});
  std::erase_if(mesh.triangles, [&](const auto& t) {
    return mesh.vertices[t[0]][2] == 1 && mesh.vertices[t[1]][2] == 1 && mesh.vertices[t[2]][2] == 1;
  });
  const MeshFlaws flaws = find_flaws(mesh);
  EXPECT_FALSE(flaws.watertight());
  EXPECT_EQ(flaws.open_edges.count, 4);
  ASSERT_EQ(flaws.holes.size(), 1u);
  EXPECT_EQ(flaws.holes[0].centre, (Point{1, 0.5, 1}));
  EXPECT_DOUBLE_EQ(flaws.holes[0].size, std::sqrt(5.0));
  expect_error([&] { require_watertight(mesh, "car"); }, ErrorCode::unsupported,
               {{"body", "car"}, {"holes", 1}, {"open_edges", 4}});
}

TEST(MeshFlaws, CountEdgesOfThreeTrianglesAndTrianglesTwice) {
  Mesh mesh = make_box({0, 0, 0}, {1, 1, 1});
  mesh.triangles.push_back(mesh.triangles[0]);
  const MeshFlaws flaws = find_flaws(mesh);
  EXPECT_EQ(flaws.odd_edges.count, 3);
  EXPECT_EQ(flaws.duplicates.count, 1);
  EXPECT_FALSE(flaws.watertight());
}

TEST(MeshFlaws, TrianglesWithoutAreaAreToldButDoNoHarm) {
  Mesh mesh = make_box({0, 0, 0}, {1, 1, 1});
  // Splits one side of a triangle at its midpoint. A degenerate triangle closes the other side of that edge.
  const auto [a, b, c] = mesh.triangles[0];
  const auto m = static_cast<std::int32_t>(mesh.vertices.size());
  Point middle;
  for (int i = 0; i < 3; ++i) middle[i] = (mesh.vertices[a][i] + mesh.vertices[b][i]) / 2;
  mesh.vertices.push_back(middle);
  mesh.triangles[0] = {a, m, c};
  mesh.triangles.insert(mesh.triangles.end(), {{m, b, c}, {a, b, m}});
  const MeshFlaws flaws = find_flaws(mesh);
  EXPECT_TRUE(flaws.watertight()) << flaws.to_string();
  EXPECT_EQ(flaws.flat_triangles.count, 1);
  const std::string text = flaws.to_string();
  EXPECT_EQ(text.find("watertight"), 0u) << text;
  EXPECT_NE(text.find("1 triangle without area"), std::string::npos) << text;
}

TEST(MeshFlaws, TurnedTrianglesAreFoundAndTurnedBack) {
  std::mt19937 random(7);
  Mesh mesh = make_sphere({0, 0, 0}, 1, 2);
  const double before = volume(mesh);
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    if (random() % 4 == 0) std::swap(mesh.triangles[t][1], mesh.triangles[t][2]);
  EXPECT_GT(find_flaws(mesh).turned_edges.count, 0);
  expect_error([&] { require_watertight(mesh, "ball"); }, ErrorCode::unsupported,
               {{"body", "ball"},
                {"holes", 0},
                {"open_edges", 0},
                {"odd_edges", 0},
                {"turned_edges", find_flaws(mesh).turned_edges.count}});
  const Mesh turned = oriented(mesh);
  EXPECT_TRUE(find_flaws(turned).watertight());
  EXPECT_EQ(volume(turned), before);
}

TEST(MeshFlaws, NearlySharedVerticesAreNamedAsTheReasonOfALeak) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> shake(-1e-8, 1e-8);
  const Mesh whole = make_sphere({0, 0, 0}, 1, 2);
  Mesh soup;
  for (const auto& triangle : whole.triangles) {
    const auto first = static_cast<std::int32_t>(soup.vertices.size());
    for (const auto v : triangle) {
      Point p = whole.vertices[v];
      for (double& x : p) x += shake(random);
      soup.vertices.push_back(p);
    }
    soup.triangles.push_back({first, first + 1, first + 2});
  }
  soup.part.assign(soup.triangles.size(), 0);
  soup.parts = {"soup"};
  EXPECT_FALSE(find_flaws(weld(soup)).watertight());
  const auto leak = error_of([&] { require_watertight(soup, "soup"); });
  expect_error(leak, ErrorCode::unsupported, {{"body", "soup"}});
  EXPECT_TRUE(find_flaws(weld(soup, std::stod(leak->fact("weld")))).watertight());
  const Mesh welded = weld(soup, 1e-6);
  EXPECT_TRUE(find_flaws(welded).watertight());
  EXPECT_EQ(welded.vertices.size(), whole.vertices.size());
}

TEST(MeshShapes, VolumeAndAreaConvergeWithOrderTwo) {
  const double pi = std::numbers::pi;
  for (int level = 2; level < 5; ++level) {
    const Mesh coarse = make_sphere({1, 2, 3}, 2, level), fine = make_sphere({1, 2, 3}, 2, level + 1);
    EXPECT_TRUE(find_flaws(coarse).watertight());
    const double volume_order = std::log2((32 * pi / 3 - volume(coarse)) / (32 * pi / 3 - volume(fine)));
    const double area_order = std::log2((16 * pi - area(coarse)) / (16 * pi - area(fine)));
    EXPECT_NEAR(volume_order, 2, 0.05) << level;
    EXPECT_NEAR(area_order, 2, 0.05) << level;
  }
  const Mesh coarse = make_torus({0, 0, 0}, 2, 0.5, 64, 32), fine = make_torus({0, 0, 0}, 2, 0.5, 128, 64);
  EXPECT_TRUE(find_flaws(fine).watertight());
  EXPECT_NEAR(std::log2((pi * pi - volume(coarse)) / (pi * pi - volume(fine))), 2, 0.02);
  EXPECT_EQ(make_sphere({0, 0, 0}, 1, 3).triangles.size(), 20u * 64);
}

TEST(MeshTransform, AppliesUnitsScaleRotationAndTranslationInThatOrder) {
  const Mesh box = make_box({0, 0, 0}, {1000, 2000, 3000});
  const Mesh moved = transformed(box, {.units = "mm", .scale = 2, .rotate = {0, 0, 90}, .translate = {10, 0, -1}});
  const Bounds b = bounds(moved);
  // A quarter turn about z carries x to y and y to -x, without rounding.
  EXPECT_EQ(b.lo, (Point{6, 0, -1}));
  EXPECT_EQ(b.hi, (Point{10, 2, 5}));
  EXPECT_NEAR(volume(transformed(box, {.units = "in", .rotate = {11, 22, 33}})), 6e9 * std::pow(0.0254, 3), 1e-3);
}

TEST(MeshTransform, TurnsAboutXThenYThenZ) {
  Mesh point;
  point.vertices = {{0, 1, 0}};
  EXPECT_EQ(transformed(point, {.rotate = {90, 90, 0}}).vertices[0], (Point{1, 0, 0}));
  EXPECT_EQ(transformed(point, {.rotate = {0, 0, -90}}).vertices[0], (Point{1, 0, 0}));
  EXPECT_EQ(transformed(point, {.rotate = {450, 0, 180}}).vertices[0], (Point{0, 0, 1}));
}

TEST(MeshTransform, RefusesUnitsItDoesNotKnow) {
  const Mesh box = make_box({0, 0, 0}, {1, 1, 1});
  expect_error([&] { transformed(box, {.units = "furlong"}); }, ErrorCode::invalid_argument,
               {{"option", "units"}, {"given", "furlong"}});
  expect_error([&] { transformed(box, {.scale = 0}); }, ErrorCode::invalid_argument,
               {{"option", "scale"}, {"given", 0}});
  expect_error(
      [&] {
        transformed(box, {.translate = {0, std::nan(""), 0}});
      },
      ErrorCode::invalid_argument, {{"option", "translate"}});
}

Bounds box_of(const Point& lo, const Point& hi) { return {lo, hi}; }

TEST(MeshDomain, IsExtendedToWholeBlocksOnBothSides) {
  const MeshDomain d = fit_domain(box_of({0, 0, 0}, {4, 1.7, 1.5}), {.spacing = 0.1,
                                                                     .margin_low = {1, 0.5, 0},
                                                                     .margin_high = {3, 0.5, 1},
                                                                     .block = {32, 32, 32},
                                                                     .keep_low = {0, 0, 1}});
  // 80 x 27 x 25 cells are needed: 3 x 1 x 1 blocks, with 16, 5 and 7 cells more.
  EXPECT_EQ(d.blocks, (Extent{3, 1, 1}));
  EXPECT_EQ(d.cells, (Extent{96, 32, 32}));
  EXPECT_NEAR(d.origin[0], -1 - 0.8, 1e-12);
  EXPECT_NEAR(d.origin[1], -0.5 - 0.2, 1e-12);
  EXPECT_EQ(d.origin[2], 0);
}

TEST(MeshDomain, CellsThatFitButForRoundingAreNotOneMore) {
  // Box sizes over the spacing 0.1 are inexact (0.3 / 0.1 < 3). Rounding errors must not add a cell.
  for (int n = 1; n <= 200; ++n) {
    const MeshDomain d =
        fit_domain(box_of({0, 0, 0}, {0.1 * n, 0.3, 0.7}), {.spacing = 0.1, .margin_low = {0, 0, 0.1}});
    EXPECT_EQ(d.cells, (Extent{n, 3, 8}));
  }
}

TEST(MeshDomain, HoldsBoxAndMarginsForRandomBodies) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> place(-5, 5), size(0.01, 8), margin(-0.001, 3), spacing(0.02, 0.3);
  std::uniform_int_distribution<int> block(1, 40);
  for (int round = 0; round < 200; ++round) {
    Bounds body;
    MeshDomainOptions options;
    options.spacing = spacing(random);
    for (int a = 0; a < 3; ++a) {
      body.lo[a] = place(random);
      body.hi[a] = body.lo[a] + size(random);
      options.margin_low[a] = margin(random);
      options.margin_high[a] = margin(random);
      options.block[a] = block(random);
      options.keep_low[a] = round % 2 == a % 2;
    }
    const MeshDomain d = fit_domain(body, options);
    for (int a = 0; a < 3; ++a) {
      const double low = body.lo[a] - options.margin_low[a], high = body.hi[a] + options.margin_high[a];
      EXPECT_EQ(d.cells[a], d.blocks[a] * options.block[a]);
      EXPECT_LE(d.origin[a], low + 1e-9);
      EXPECT_GE(d.origin[a] + d.cells[a] * d.spacing, high - 1e-9);
      EXPECT_LT((d.blocks[a] - 1) * options.block[a] * d.spacing, high - low + 1e-9) << "a block too many";
      if (options.keep_low[a]) {
        EXPECT_EQ(d.origin[a], low);
      } else {
        const double below = low - d.origin[a], above = d.origin[a] + d.cells[a] * d.spacing - high;
        EXPECT_LE(std::abs(above - below), 2 * d.spacing + 1e-9);
      }
    }
  }
}

TEST(MeshDomain, RefusesSizesThatMakeNoGrid) {
  const Bounds body = box_of({0, 0, 0}, {1, 1, 1});
  expect_error([&] { fit_domain(body, {.spacing = 0}); }, ErrorCode::invalid_argument,
               {{"option", "spacing"}, {"given", 0}});
  expect_error([&] { fit_domain(body, {.spacing = 1e-10}); }, ErrorCode::unsupported,
               {{"option", "spacing"}, {"axis", "x"}, {"cells", 1e10}});
  expect_error(
      [&] {
        fit_domain(body, {.spacing = 1, .block = {1, 0, 1}});
      },
      ErrorCode::invalid_argument, {{"option", "block"}, {"axis", "y"}, {"given", 0}});
  expect_error(
      [&] {
        fit_domain(body, {.spacing = 1, .margin_low = {0, 0, -2}});
      },
      ErrorCode::unsupported, {{"option", "margin"}, {"axis", "z"}});
  expect_error([&] { fit_domain(Bounds{}, {.spacing = 1}); }, ErrorCode::invalid_argument, {{"option", "mesh"}});
}

TEST(MeshDomain, BodiesOutsideOrInWrongUnitsAreNamed) {
  const MeshDomain domain{{0, 0, 0}, 0.1, {100, 40, 30}, {1, 1, 1}};
  const auto error = [&](const Point& lo, const Point& hi) {
    return error_of([&] { require_inside(box_of(lo, hi), "car", domain); });
  };
  EXPECT_FALSE(error({1, 1, 0}, {5, 3, 1.5}));
  EXPECT_FALSE(error({-1, 1, 0}, {5, 3, 1.5})) << "a body may cross the domain's side";
  expect_error(error({20, 1, 0}, {24, 3, 1.5}), ErrorCode::unsupported, {{"body", "car"}, {"axis", "x"}});
  expect_error(error({0, 0, 0}, {4000, 1700, 1500}), ErrorCode::unsupported,
               {{"body", "car"}, {"size", 4000}, {"domain", 10}, {"scale", 0.001}});
  expect_error(error({0, 0, 0}, {0.0041, 0.0017, 0.0015}), ErrorCode::unsupported,
               {{"body", "car"}, {"size", 0.0041}, {"scale", 1000}});
}

TEST(MeshDomain, SizesOfBodiesInCellsAreAMatterOfScaleNotOfUnits) {
  const MeshDomain domain{{0, 0, 0}, 1, {100, 40, 30}, {1, 1, 1}};
  const auto error = [&](const Point& lo, const Point& hi) {
    return error_of([&] { require_inside(box_of(lo, hi), "car", domain, "cells"); });
  };
  expect_error(error({200, 1, 0}, {240, 3, 1.5}), ErrorCode::unsupported, {{"body", "car"}, {"axis", "x"}});
  expect_error(error({0, 0, 0}, {4000, 1700, 1500}), ErrorCode::unsupported, {{"body", "car"}, {"scale", 0.01}});
  expect_error(error({0, 0, 0}, {0.41, 0.17, 0.15}), ErrorCode::unsupported, {{"body", "car"}, {"scale", 100}});
}

}  // namespace
}  // namespace slipstream

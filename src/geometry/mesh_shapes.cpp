#include <algorithm>
#include <map>
#include <numbers>

#include <slipstream/error.hpp>
#include <slipstream/mesh.hpp>

#include "geometry/mesh_vectors.hpp"

namespace slipstream {
namespace {

Mesh named(const std::string& part, std::vector<Point> vertices, std::vector<std::array<std::int32_t, 3>> triangles) {
  std::vector<std::int32_t> parts(triangles.size(), 0);
  return {std::move(vertices), std::move(triangles), std::move(parts), {part}};
}

Mesh icosahedron() {
  const double g = std::numbers::phi;
  std::vector<Point> vertices;
  for (int a = 0; a < 3; ++a)
    for (const double one : {-1.0, 1.0})
      for (const double long_side : {-g, g}) {
        Point p{0, 0, 0};
        p[(a + 1) % 3] = one;
        p[(a + 2) % 3] = long_side;
        vertices.push_back(p);
      }
  // The icosahedron's faces are all triples of vertices with pairwise distance 2, the edge length.
  std::vector<std::array<std::int32_t, 3>> triangles;
  const auto near = [&](int a, int b) { return length(vertices[a] - vertices[b]) < 2.5; };
  for (int a = 0; a < 12; ++a)
    for (int b = a + 1; b < 12; ++b)
      for (int c = b + 1; c < 12; ++c) {
        if (!near(a, b) || !near(b, c) || !near(a, c)) continue;
        const bool outward = dot(vertices[a], cross(vertices[b], vertices[c])) > 0;
        triangles.push_back(outward ? std::array{a, b, c} : std::array{a, c, b});
      }
  return named("sphere", vertices, triangles);
}

Mesh refined(const Mesh& mesh) {
  Mesh result = named(mesh.parts[0], mesh.vertices, {});
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> middles;
  const auto middle = [&](std::int32_t a, std::int32_t b) {
    const auto [at, fresh] = middles.try_emplace(std::minmax(a, b), static_cast<std::int32_t>(result.vertices.size()));
    if (fresh) result.vertices.push_back(0.5 * (mesh.vertices[a] + mesh.vertices[b]));
    return at->second;
  };
  for (const auto& [a, b, c] : mesh.triangles) {
    const auto ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
    for (const auto& t : {std::array{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}}) result.triangles.push_back(t);
  }
  result.part.assign(result.triangles.size(), 0);
  return result;
}

}  // namespace

Mesh make_sphere(const Point& centre, double radius, int refinements) {
  require(radius > 0 && refinements >= 0 && refinements <= 10,
          "a sphere needs a positive radius and 0 to 10 refinements");
  Mesh mesh = icosahedron();
  for (int level = 0; level <= refinements; ++level) {
    if (level > 0) mesh = refined(mesh);
    for (Point& p : mesh.vertices) p = 1 / length(p) * p;
  }
  for (Point& p : mesh.vertices) p = centre + radius * p;
  return mesh;
}

Mesh make_box(const Point& lo, const Point& hi) {
  require(lo[0] < hi[0] && lo[1] < hi[1] && lo[2] < hi[2], "a box needs a low corner below its high corner");
  std::vector<Point> vertices;
  for (int corner = 0; corner < 8; ++corner)
    vertices.push_back({corner & 1 ? hi[0] : lo[0], corner & 2 ? hi[1] : lo[1], corner & 4 ? hi[2] : lo[2]});
  std::vector<std::array<std::int32_t, 3>> triangles;
  for (int axis = 0; axis < 3; ++axis) {
    const int u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3, up = 1 << axis;
    triangles.insert(triangles.end(),
                     {{0, u + v, u}, {0, v, u + v}, {up, up + u, up + u + v}, {up, up + u + v, up + v}});
  }
  return named("box", vertices, triangles);
}

Mesh make_torus(const Point& centre, double ring_radius, double tube_radius, int rings, int sides) {
  require(ring_radius > tube_radius && tube_radius > 0 && rings >= 3 && sides >= 3,
          "a torus needs a tube thinner than its ring, and three rings and sides");
  std::vector<Point> vertices;
  std::vector<std::array<std::int32_t, 3>> triangles;
  for (int r = 0; r < rings; ++r)
    for (int s = 0; s < sides; ++s) {
      const double along = 2 * std::numbers::pi * r / rings, round = 2 * std::numbers::pi * s / sides;
      const double distance = ring_radius + tube_radius * std::cos(round);
      vertices.push_back(centre +
                         Point{distance * std::cos(along), distance * std::sin(along), tube_radius * std::sin(round)});
      const int next_ring = (r + 1) % rings, next_side = (s + 1) % sides;
      const std::int32_t a = r * sides + s, b = next_ring * sides + s, c = next_ring * sides + next_side,
                         d = r * sides + next_side;
      triangles.push_back({a, b, c});
      triangles.push_back({a, c, d});
    }
  return named("torus", vertices, triangles);
}

}  // namespace slipstream

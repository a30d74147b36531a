#include "geometry/polygon.hpp"

#include "geometry/mesh_vectors.hpp"

namespace slipstream {
namespace {

// Twice the area of a polygon as a vector, by Newell's method; valid for concave polygons, too.
Point normal_of(const std::vector<Point>& vertices, std::span<const std::int32_t> polygon) {
  Point sum{0, 0, 0};
  const Point& origin = vertices[polygon[0]];
  for (std::size_t i = 1; i + 1 < polygon.size(); ++i)
    sum = sum + cross(vertices[polygon[i]] - origin, vertices[polygon[i + 1]] - origin);
  return sum;
}

double turn(const Point& a, const Point& b, const Point& c, const Point& normal) {
  return dot(cross(b - a, c - b), normal);
}

bool convex(const std::vector<Point>& vertices, std::span<const std::int32_t> polygon, const Point& normal) {
  const std::size_t n = polygon.size();
  for (std::size_t i = 0; i < n; ++i)
    if (turn(vertices[polygon[i]], vertices[polygon[(i + 1) % n]], vertices[polygon[(i + 2) % n]], normal) < 0)
      return false;
  return true;
}

bool is_ear(const std::vector<Point>& vertices, const std::vector<std::int32_t>& ring, std::size_t i,
            const Point& normal) {
  const std::size_t n = ring.size();
  const Point &a = vertices[ring[(i + n - 1) % n]], &b = vertices[ring[i]], &c = vertices[ring[(i + 1) % n]];
  if (turn(a, b, c, normal) <= 0) return false;
  for (std::size_t j = 0; j + 3 < n; ++j) {
    const Point& p = vertices[ring[(i + 2 + j) % n]];
    if (p == a || p == b || p == c) continue;
    if (turn(a, b, p, normal) >= 0 && turn(b, c, p, normal) >= 0 && turn(c, a, p, normal) >= 0) return false;
  }
  return true;
}

}  // namespace

void triangulate(const std::vector<Point>& vertices, std::span<const std::int32_t> polygon,
                 std::vector<std::array<std::int32_t, 3>>& triangles) {
  const Point normal = normal_of(vertices, polygon);
  if (polygon.size() == 3 || convex(vertices, polygon, normal)) {
    for (std::size_t i = 1; i + 1 < polygon.size(); ++i) triangles.push_back({polygon[0], polygon[i], polygon[i + 1]});
    return;
  }
  std::vector<std::int32_t> ring(polygon.begin(), polygon.end());
  while (ring.size() > 3) {
    const std::size_t n = ring.size();
    std::size_t ear = 0;
    while (ear < n && !is_ear(vertices, ring, ear, normal)) ++ear;
    // no vertex can be cut off: the polygon is not planar or intersects itself, and any triangulation keeps its outline
    if (ear == n) ear = 1;
    triangles.push_back({ring[(ear + n - 1) % n], ring[ear], ring[(ear + 1) % n]});
    ring.erase(ring.begin() + static_cast<std::ptrdiff_t>(ear));
  }
  triangles.push_back({ring[0], ring[1], ring[2]});
}

}  // namespace slipstream

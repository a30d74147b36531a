#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include <slipstream/mesh.hpp>
#include <slipstream/stencil.hpp>

// Brute-force queries on points, segments and meshes over all triangles, and random meshes.
namespace slipstream::testing_support {

inline const std::vector<Direction> all_directions = directions(Reach::all);

inline Point minus(const Point& a, const Point& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline double dot(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline double length(const Point& a) { return std::sqrt(dot(a, a)); }

inline MeshDomain unit_cells(const Extent& cells) { return {{0, 0, 0}, 1, cells, {1, 1, 1}}; }
inline Box whole(const MeshDomain& domain) { return {{0, 0, 0}, domain.cells}; }

inline Point centre_of(const MeshDomain& d, const Extent& cell) {
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

inline Mesh turned(const Mesh& mesh, std::mt19937& random, const Point& to) {
  std::uniform_real_distribution<double> angle(-180, 180);
  return transformed(mesh, {.rotate = {angle(random), angle(random), angle(random)}, .translate = to});
}

// Winding number of a mesh around p: solid angle over 4 pi (van Oosterom & Strackee 1983). Intersects no lines.
inline double winding(const Mesh& mesh, const Point& p) {
  double sum = 0;
  for (const auto& triangle : mesh.triangles) {
    const Point a = minus(mesh.vertices[triangle[0]], p), b = minus(mesh.vertices[triangle[1]], p),
                c = minus(mesh.vertices[triangle[2]], p);
    const double la = length(a), lb = length(b), lc = length(c);
    sum += std::atan2(dot(a, cross(b, c)), la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb);
  }
  return sum / (2 * std::numbers::pi);
}

inline double distance_to(const Mesh& mesh, std::int32_t triangle, const Point& p) {
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

inline double distance_to(const Mesh& mesh, const Point& p) {
  double nearest = 1e300;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    nearest = std::min(nearest, distance_to(mesh, static_cast<std::int32_t>(t), p));
  return nearest;
}

// First intersection of the segment from p along d with the mesh, as a fraction of it; 2 if there is none.
inline double first_hit(const Mesh& mesh, const Point& p, const Point& d) {
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

// Random mesh of four closed tetrahedra that may overlap and touch. `mixed`: some are inside out. `on_lattice`:
// vertices are cell centres or halfway between, so that grid lines meet edges and corners exactly.
inline Mesh random_soup(std::mt19937& random, bool on_lattice, double size, bool mixed = true) {
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

}  // namespace slipstream::testing_support

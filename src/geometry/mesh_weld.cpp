#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include <slipstream/error.hpp>
#include <slipstream/mesh.hpp>

#include "geometry/mesh_vectors.hpp"

namespace slipstream {
namespace {

std::uint64_t mixed(std::uint64_t h) {
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}

std::uint64_t hash_of(const Point& p) {
  std::uint64_t h = 0;
  for (const double x : p) h = mixed(h + 0x9e3779b97f4a7c15ull + std::bit_cast<std::uint64_t>(x));
  return h;
}

// Maps each vertex to the first one at the same position, by a hash table with open addressing, at most half full.
std::vector<std::int32_t> first_equal(const std::vector<Point>& vertices) {
  const std::size_t slots = std::bit_ceil(2 * vertices.size() + 2);
  std::vector<std::int32_t> table(slots, -1), first(vertices.size());
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    std::size_t slot = hash_of(vertices[v]) & (slots - 1);
    while (table[slot] >= 0 && vertices[table[slot]] != vertices[v]) slot = (slot + 1) & (slots - 1);
    if (table[slot] < 0) table[slot] = static_cast<std::int32_t>(v);
    first[v] = table[slot];
  }
  return first;
}

std::int32_t root_of(std::vector<std::int32_t>& parent, std::int32_t v) {
  while (parent[v] != v) v = parent[v] = parent[parent[v]];
  return v;
}

// Maps each vertex to the first close one, sweeping along x. Chains of close vertices get their smallest index.
std::vector<std::int32_t> first_close(const std::vector<Point>& vertices, double tolerance) {
  std::vector<std::int32_t> order(vertices.size()), parent(vertices.size());
  std::iota(order.begin(), order.end(), 0);
  std::iota(parent.begin(), parent.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return vertices[a] < vertices[b]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Point& p = vertices[order[i]];
    for (std::size_t j = i + 1; j < order.size() && vertices[order[j]][0] - p[0] <= tolerance; ++j) {
      const Point& other = vertices[order[j]];
      if (std::abs(other[1] - p[1]) > tolerance || std::abs(other[2] - p[2]) > tolerance) continue;
      const auto a = root_of(parent, order[i]), b = root_of(parent, order[j]);
      parent[std::max(a, b)] = std::min(a, b);
    }
  }
  for (std::size_t v = 0; v < parent.size(); ++v) parent[v] = root_of(parent, static_cast<std::int32_t>(v));
  return parent;
}

}  // namespace

Mesh weld(const Mesh& mesh, double tolerance) {
  require(std::isfinite(tolerance) && tolerance >= 0,
          "the tolerance of a weld is " + to_text(tolerance) + ": it must be 0 or a small length");
  Mesh result{{}, mesh.triangles, mesh.part, mesh.parts};
  std::vector<Point> vertices = mesh.vertices;
  for (Point& p : vertices)
    for (double& x : p) x += 0.0;  // -0 becomes 0: equal positions need equal bits
  const auto first = tolerance > 0 ? first_close(vertices, tolerance) : first_equal(vertices);
  std::vector<std::int32_t> place(vertices.size());
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    if (first[v] == static_cast<std::int32_t>(v)) {
      place[v] = static_cast<std::int32_t>(result.vertices.size());
      result.vertices.push_back(vertices[v]);
    } else {
      place[v] = place[first[v]];
    }
  }
  for (auto& triangle : result.triangles)
    for (auto& v : triangle) v = place[v];
  return result;
}

}  // namespace slipstream

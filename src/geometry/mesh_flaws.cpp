#include <algorithm>
#include <numeric>

#include <slipstream/error.hpp>
#include <slipstream/mesh.hpp>

#include "geometry/mesh_edges.hpp"
#include "geometry/mesh_vectors.hpp"

namespace slipstream {
namespace {

constexpr std::size_t places_kept = 5;

void note(MeshFlaws::Kind& kind, const Point& place) {
  ++kind.count;
  if (kind.places.size() < places_kept) kind.places.push_back(place);
}

Point middle(const Mesh& mesh, const std::array<std::int32_t, 3>& triangle) {
  return 1.0 / 3 * (mesh.vertices[triangle[0]] + mesh.vertices[triangle[1]] + mesh.vertices[triangle[2]]);
}

std::vector<EdgeUse> check_edges(const Mesh& mesh, MeshFlaws& flaws) {
  std::vector<EdgeUse> open;
  const auto uses = edge_uses(mesh);
  for_each_edge(uses, [&](std::size_t first, std::size_t last) {
    const Point place = 0.5 * (mesh.vertices[uses[first].low] + mesh.vertices[uses[first].high]);
    std::int64_t balance = 0;
    for (std::size_t u = first; u < last; ++u) balance += uses[u].forward ? 1 : -1;
    if (last - first == 1) {
      note(flaws.open_edges, place);
      open.push_back(uses[first]);
    } else if ((last - first) % 2 == 1) {
      note(flaws.odd_edges, place);
    } else if (balance != 0) {
      note(flaws.turned_edges, place);
    }
  });
  return open;
}

// Groups open edges into holes: edges that share a vertex bound the same hole.
std::vector<MeshFlaws::Hole> holes_of(const Mesh& mesh, const std::vector<EdgeUse>& open) {
  std::vector<std::int32_t> ends;
  for (const EdgeUse& edge : open) {
    ends.push_back(edge.low);
    ends.push_back(edge.high);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  const auto place = [&](std::int32_t v) { return std::lower_bound(ends.begin(), ends.end(), v) - ends.begin(); };
  std::vector<std::ptrdiff_t> parent(ends.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](std::ptrdiff_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  for (const EdgeUse& edge : open) parent[root(place(edge.high))] = root(place(edge.low));

  std::vector<Bounds> around(ends.size());
  std::vector<std::int64_t> edges(ends.size());
  for (const EdgeUse& edge : open) {
    const auto hole = root(place(edge.low));
    around[hole].include(mesh.vertices[edge.low]);
    around[hole].include(mesh.vertices[edge.high]);
    ++edges[hole];
  }
  std::vector<MeshFlaws::Hole> holes;
  for (std::size_t h = 0; h < ends.size(); ++h)
    if (edges[h] > 0) holes.push_back({0.5 * (around[h].lo + around[h].hi), around[h].diagonal(), edges[h]});
  std::stable_sort(holes.begin(), holes.end(), [](const auto& a, const auto& b) { return a.size > b.size; });
  return holes;
}

void check_triangles(const Mesh& mesh, MeshFlaws& flaws) {
  // Least height of a triangle relative to its longest side squared. Rounding leaves this much of three collinear
  // points.
  constexpr double flat = 1e-12;
  std::vector<std::pair<std::array<std::int32_t, 3>, std::size_t>> sorted;
  sorted.reserve(mesh.triangles.size());
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    auto triangle = mesh.triangles[t];
    const Point &a = mesh.vertices[triangle[0]], &b = mesh.vertices[triangle[1]], &c = mesh.vertices[triangle[2]];
    const double side = std::max({length(b - a), length(c - b), length(a - c)});
    if (length(cross(b - a, c - a)) <= flat * side * side) note(flaws.flat_triangles, middle(mesh, triangle));
    std::sort(triangle.begin(), triangle.end());
    sorted.emplace_back(triangle, t);
  }
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].first == sorted[i - 1].first) note(flaws.duplicates, middle(mesh, sorted[i].first));
}

std::string counted(std::int64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

void add(std::string& text, const MeshFlaws::Kind& kind, const std::string& one, const std::string& many) {
  if (kind.count == 0) return;
  text += (text.empty() ? "" : "; ") + counted(kind.count, one, many) + " at " + to_text(kind.places[0]);
  for (std::size_t p = 1; p < std::min<std::size_t>(3, kind.places.size()); ++p) text += ", " + to_text(kind.places[p]);
  if (kind.count > 3) text += ", ...";
}

// The smallest of several welding tolerances that closes the mesh; 0 if none does.
double closing_tolerance(const Mesh& mesh) {
  const double size = bounds(mesh).diagonal();
  for (const double part : {1e-7, 1e-6, 1e-5, 1e-4})
    if (find_flaws(weld(mesh, part * size)).watertight()) return part * size;
  return 0;
}

}  // namespace

MeshFlaws find_flaws(const Mesh& mesh) {
  MeshFlaws flaws;
  const auto open = check_edges(mesh, flaws);
  flaws.holes = holes_of(mesh, open);
  check_triangles(mesh, flaws);
  flaws.inside_out = flaws.watertight() && volume(mesh) < 0;
  return flaws;
}

std::string MeshFlaws::to_string() const {
  std::string text;
  if (!holes.empty()) {
    text = counted(static_cast<std::int64_t>(holes.size()), "hole", "holes") + " with " +
           counted(open_edges.count, "open edge", "open edges") + ", the largest round " + to_text(holes[0].centre) +
           ", " + to_text(holes[0].size) + " across";
  }
  add(text, odd_edges, "edge of an odd number of triangles", "edges of an odd number of triangles");
  add(text, turned_edges, "edge between triangles of opposite orientation",
      "edges between triangles of opposite orientation");
  if (text.empty()) text = inside_out ? "watertight, inside out" : "watertight";
  add(text, flat_triangles, "triangle without area", "triangles without area");
  add(text, duplicates, "triangle twice", "triangles twice");
  return text;
}

void require_watertight(const Mesh& mesh, const std::string& name) {
  require(!mesh.triangles.empty(), "body '" + name + "' has no triangles", {{"body", name}, {"triangles", 0}});
  const MeshFlaws flaws = find_flaws(mesh);
  if (flaws.watertight()) return;
  Facts facts{{"body", name},
              {"holes", flaws.holes.size()},
              {"open_edges", flaws.open_edges.count},
              {"odd_edges", flaws.odd_edges.count},
              {"turned_edges", flaws.turned_edges.count}};
  std::string advice = "close it in the program that made it";
  if (flaws.open_edges.count == 0 && flaws.odd_edges.count == 0) {
    advice = "reverse triangles until all face outwards ('orient = true' does)";
  } else if (const double tolerance = closing_tolerance(mesh); tolerance > 0) {
    advice = "joining vertices closer than " + to_text(tolerance) + " closes it ('weld = " + to_text(tolerance) + "')";
    facts.emplace_back("weld", tolerance);
  }
  throw Error(ErrorCode::unsupported,
              "body '" + name + "': its surface has no inside: " + flaws.to_string() + "; " + advice, std::move(facts));
}

}  // namespace slipstream

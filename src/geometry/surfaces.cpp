#include "geometry/surfaces.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

constexpr std::int64_t tile_edge = 16;

/// Intersection of a line and a triangle.
struct Crossing {
  std::int32_t v, w;
  std::int32_t body, triangle;
  double u;
  int sign;  ///< +1 or -1: side of the triangle from which the line through cells comes, for winding numbers
};

// First integer k with a <= k; with last_between(b) the integers are those with a <= k < b.
std::int64_t first_between(double a) { return static_cast<std::int64_t>(std::ceil(a)); }
std::int64_t last_between(double b) { return static_cast<std::int64_t>(std::ceil(b)) - 1; }

// Coordinates far outside of all cells must not overflow when they are rounded to integers.
double clamped(double x) { return std::clamp(x, -4e9, 4e9); }

struct OnPlane {
  double u, v;
};

// Intersection of the edge from p to q with the plane w = k. The caller orders p and q by vertex number, so that both
// triangles of an edge compute the same bits.
OnPlane cut_edge(const Point& p, const Point& q, double k) {
  const double t = (k - p[2]) / (q[2] - p[2]);
  return {p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])};
}

}  // namespace

Surfaces surfaces_of(const std::vector<Body>& bodies, const MeshDomain& domain, std::int64_t reach) {
  std::vector<std::vector<Extent>> shifts;
  std::int64_t triangles = 0, vertices = 0;
  for (const Body& body : bodies) {
    MeshDomain seen = domain;
    for (int a = 0; a < 3; ++a) seen.periodic[a] = domain.periodic[a] && !body.continued[a];
    shifts.push_back(image_shifts(bounds(body.mesh), seen, reach));
    const auto images = static_cast<std::int64_t>(shifts.back().size());
    triangles += images * static_cast<std::int64_t>(body.mesh.triangles.size());
    vertices += images * static_cast<std::int64_t>(body.mesh.vertices.size());
  }
  require(
      std::max(triangles, vertices) < std::int64_t{1} << 31, ErrorCode::unsupported,
      std::to_string(triangles) + " triangles in all bodies: fewer than 2^31 can be numbered; make the meshes coarser");
  Surfaces all;
  for (std::size_t n = 0; n < bodies.size(); ++n) {
    const Mesh& mesh = bodies[n].mesh;
    all.first.push_back(static_cast<std::int64_t>(all.triangles.size()));
    all.own.push_back(static_cast<std::int64_t>(mesh.triangles.size()));
    for (const Extent& shift : shifts[n]) {
      const auto offset = static_cast<std::int32_t>(all.vertices.size());
      for (const Point& p : mesh.vertices) {
        Point in_cells;
        for (int a = 0; a < 3; ++a)
          in_cells[a] =
              (p[a] - domain.origin[a]) / domain.spacing - 0.5 + static_cast<double>(shift[a] * domain.cells[a]);
        all.vertices.push_back(in_cells);
      }
      for (const auto& [a, b, c] : mesh.triangles) all.triangles.push_back({a + offset, b + offset, c + offset});
    }
  }
  all.first.push_back(static_cast<std::int64_t>(all.triangles.size()));
  return all;
}

LineFamily::LineFamily(const Direction& along) {
  u = along[0] != 0 ? 0 : along[1] != 0 ? 1 : 2;
  v = u == 0 ? 1 : 0;
  w = u == 2 ? 1 : 2;
  dv = along[v];
  dw = along[w];
}

Extent LineFamily::cell(std::int64_t line_v, std::int64_t line_w, std::int64_t step) const {
  Extent result;
  result[u] = step;
  result[v] = line_v + dv * step;
  result[w] = line_w + dw * step;
  return result;
}

Box LineFamily::lines_through(const Box& cells) const {
  Box lines{{0, 0, 0}, {0, 0, 1}};
  const std::int64_t low = cells.lo[u], high = cells.hi[u] - 1;
  lines.lo[0] = cells.lo[v] - std::max(dv * low, dv * high);
  lines.hi[0] = cells.hi[v] - std::min(dv * low, dv * high);
  lines.lo[1] = cells.lo[w] - std::max(dw * low, dw * high);
  lines.hi[1] = cells.hi[w] - std::min(dw * low, dw * high);
  return lines;
}

LineIndex::LineIndex(const Surfaces& surfaces, const Direction& along, const Box& cells)
    : surfaces_(surfaces), family_(along) {
  sheared_.reserve(surfaces.vertices.size());
  Bounds all;
  for (const Point& p : surfaces.vertices) {
    const double u = p[family_.u];
    sheared_.push_back(
        {u, p[family_.v] - static_cast<double>(family_.dv) * u, p[family_.w] - static_cast<double>(family_.dw) * u});
    all.include(sheared_.back());
  }
  lines_ = family_.lines_through(cells);
  for (int a = 0; a < 2; ++a) {
    lines_.lo[a] = std::max(lines_.lo[a], first_between(clamped(all.lo[a + 1])));
    lines_.hi[a] = std::min(lines_.hi[a], last_between(clamped(all.hi[a + 1])) + 1);
    tiles_[a] = std::max<std::int64_t>(0, (lines_.extent(a) + tile_edge - 1) / tile_edge);
  }
  if (tiles_[0] == 0 || tiles_[1] == 0) tiles_ = {0, 0, 1};
  sort_into_tiles();
}

Box LineIndex::tile_lines(std::int64_t tile) const {
  const std::int64_t v = lines_.lo[0] + tile % tiles_[0] * tile_edge, w = lines_.lo[1] + tile / tiles_[0] * tile_edge;
  return intersection(lines_, {{v, w, 0}, {v + tile_edge, w + tile_edge, 1}});
}

Box LineIndex::tiles_of(std::size_t triangle) const {
  const auto& [a, b, c] = surfaces_.triangles[triangle];
  Box tiles{{0, 0, 0}, {0, 0, 1}};
  for (int axis = 0; axis < 2; ++axis) {
    const double x = sheared_[a][axis + 1], y = sheared_[b][axis + 1], z = sheared_[c][axis + 1];
    const std::int64_t low = std::max(first_between(clamped(std::min({x, y, z}))), lines_.lo[axis]);
    const std::int64_t high = std::min(last_between(clamped(std::max({x, y, z}))), lines_.hi[axis] - 1);
    if (low > high) return {};
    tiles.lo[axis] = (low - lines_.lo[axis]) / tile_edge;
    tiles.hi[axis] = (high - lines_.lo[axis]) / tile_edge + 1;
  }
  return tiles;
}

void LineIndex::sort_into_tiles() {
  first_.assign(volume(tiles_) + 1, 0);
  const auto each = [&](const auto& visit) {
    for (std::size_t t = 0; t < surfaces_.triangles.size(); ++t) {
      const Box tiles = tiles_of(t);
      for (std::int64_t w = tiles.lo[1]; w < tiles.hi[1]; ++w)
        for (std::int64_t v = tiles.lo[0]; v < tiles.hi[0]; ++v) visit(w * tiles_[0] + v, static_cast<std::int32_t>(t));
    }
  };
  each([&](std::int64_t tile, std::int32_t) { ++first_[tile + 1]; });
  for (std::size_t tile = 1; tile < first_.size(); ++tile) first_[tile] += first_[tile - 1];
  listed_.resize(first_.back());
  std::vector<std::int64_t> next(first_.begin(), first_.end() - 1);
  each([&](std::int64_t tile, std::int32_t triangle) { listed_[next[tile]++] = triangle; });
}

std::vector<std::int64_t> LineIndex::tiles_through(const Box& cells) const {
  const Box lines = intersection(lines_, family_.lines_through(cells));
  std::vector<std::int64_t> result;
  if (lines.empty() || volume(tiles_) == 0) return result;
  for (std::int64_t w = (lines.lo[1] - lines_.lo[1]) / tile_edge; w <= (lines.hi[1] - 1 - lines_.lo[1]) / tile_edge;
       ++w)
    for (std::int64_t v = (lines.lo[0] - lines_.lo[0]) / tile_edge; v <= (lines.hi[0] - 1 - lines_.lo[0]) / tile_edge;
         ++v) {
      const std::int64_t tile = w * tiles_[0] + v;
      if (first_[tile + 1] > first_[tile]) result.push_back(tile);
    }
  return result;
}

bool LineIndex::surface_near(std::int64_t tile, const Box& cells) const {
  const Box lines = intersection(tile_lines(tile), family_.lines_through(cells));
  const auto low = [&](int axis) {
    return static_cast<double>(axis == 0 ? cells.lo[family_.u] - 1 : lines.lo[axis - 1]);
  };
  const auto high = [&](int axis) {
    return static_cast<double>(axis == 0 ? cells.hi[family_.u] : lines.hi[axis - 1] - 1);
  };
  return std::any_of(listed_.begin() + first_[tile], listed_.begin() + first_[tile + 1], [&](std::int32_t triangle) {
    const auto& [a, b, c] = surfaces_.triangles[triangle];
    for (int axis = 0; axis < 3; ++axis) {
      const auto [least, most] = std::minmax({sheared_[a][axis], sheared_[b][axis], sheared_[c][axis]});
      if (most < low(axis) || least > high(axis)) return false;
    }
    return true;
  });
}

namespace {

/// Intersects a surface triangle with parallel lines through cells. Coordinates are sheared: lines run along an axis.
class Slicer {
 public:
  Slicer(const std::array<std::int32_t, 3>& triangle, const std::vector<Point>& vertices)
      : triangle_(triangle), p_{vertices[triangle[0]], vertices[triangle[1]], vertices[triangle[2]]} {}

  template <class Found>
  void meet(const Box& lines, const Found& found) const {
    const auto [low, high] = std::minmax({p_[0][2], p_[1][2], p_[2][2]});
    const std::int64_t first = std::max(first_between(clamped(low)), lines.lo[1]);
    const std::int64_t last = std::min(last_between(clamped(high)), lines.hi[1] - 1);
    for (std::int64_t k = first; k <= last; ++k) meet_plane(lines, k, found);
  }

 private:
  // Exactly one of the three edges crosses the plane upwards, and one downwards. A vertex on the plane counts as below.
  template <class Found>
  void meet_plane(const Box& lines, std::int64_t k, const Found& found) const {
    OnPlane up{}, down{};
    for (int e = 0; e < 3; ++e) {
      const int f = (e + 1) % 3;
      const bool from = p_[e][2] > static_cast<double>(k), to = p_[f][2] > static_cast<double>(k);
      if (from == to) continue;
      const bool in_order = triangle_[e] < triangle_[f];
      (to ? up : down) = cut_edge(p_[in_order ? e : f], p_[in_order ? f : e], static_cast<double>(k));
    }
    const auto [low, high] = std::minmax(up.v, down.v);
    const std::int64_t first = std::max(first_between(clamped(low)), lines.lo[0]);
    const std::int64_t last = std::min(last_between(clamped(high)), lines.hi[0] - 1);
    for (std::int64_t j = first; j <= last; ++j) {
      const double s = (static_cast<double>(j) - up.v) / (down.v - up.v);
      found(j, k, up.u + s * (down.u - up.u), up.v < down.v ? 1 : -1);
    }
  }

  const std::array<std::int32_t, 3>& triangle_;
  std::array<Point, 3> p_;
};

// Converts the ordered intersections of a line and a body to segments with a winding number other than 0.
void wind(const Crossing* first, const Crossing* last, std::vector<Inside>& result) {
  int winding = 0;
  const Crossing* entered = first;
  const std::size_t before = result.size();
  for (const Crossing* c = first; c < last; ++c) {
    if (winding == 0) entered = c;
    winding += c->sign;
    if (winding != 0) continue;
    if (result.size() > before && entered->u - result.back().out <= blurred) {
      result.back().out = c->u;
      result.back().triangle_out = c->triangle;
    } else {
      result.push_back({c->v, c->w, c->body, entered->triangle, c->triangle, entered->u, c->u});
    }
  }
}

}  // namespace

std::vector<Inside> LineIndex::inside(std::int64_t tile, const Box& cells) const {
  const Box lines = intersection(tile_lines(tile), family_.lines_through(cells));
  std::vector<Crossing> crossings;
  for (std::int64_t at = first_[tile]; at < first_[tile + 1]; ++at) {
    const std::int32_t triangle = listed_[at];
    const auto body = static_cast<std::int32_t>(
        std::upper_bound(surfaces_.first.begin(), surfaces_.first.end(), triangle) - surfaces_.first.begin() - 1);
    Slicer(surfaces_.triangles[triangle], sheared_)
        .meet(lines, [&](std::int64_t v, std::int64_t w, double u, int sign) {
          crossings.push_back({static_cast<std::int32_t>(v), static_cast<std::int32_t>(w), body, triangle, u, sign});
        });
  }
  const auto key = [](const Crossing& c) { return std::tie(c.w, c.v, c.body, c.u, c.triangle); };
  std::sort(crossings.begin(), crossings.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<Inside> result;
  for (std::size_t first = 0, last = 0; first < crossings.size(); first = last) {
    const Crossing& start = crossings[first];
    while (last < crossings.size() && crossings[last].w == start.w && crossings[last].v == start.v &&
           crossings[last].body == start.body)
      ++last;
    wind(crossings.data() + first, crossings.data() + last, result);
  }
  return result;
}

}  // namespace slipstream

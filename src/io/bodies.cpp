#include <slipstream/bodies.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>

#include <slipstream/error.hpp>

#include "device/work_items.hpp"
#include "io/cut_search.hpp"
#include "io/solid_rows.hpp"
#include "io/surfaces.hpp"

namespace slipstream {
namespace {

void check(const std::vector<Body>& bodies) {
  require(bodies.size() <= 65535, std::to_string(bodies.size()) +
                                      " bodies: at most 65535 can be told apart; join those that need no force each");
  std::set<std::string> names;
  for (const Body& body : bodies) {
    require(!body.name.empty(), "a body has no name: give each one");
    require(names.insert(body.name).second, "two bodies are called '" + body.name + "': give each its own name");
    require_watertight(body.mesh, body.name);
  }
}

std::string text(const Direction& d) {
  char result[64];
  std::snprintf(result, sizeof result, "(%d, %d, %d)", d[0], d[1], d[2]);
  return result;
}

void check(const std::vector<Direction>& directions) {
  std::set<Direction> seen;
  for (const Direction& d : directions) {
    const bool step = std::all_of(d.begin(), d.end(), [](int c) { return c >= -1 && c <= 1; });
    require(step && d != Direction{0, 0, 0}, "direction " + text(d) + " of a link is no step to a neighbour");
    require(seen.insert(d).second, "direction " + text(d) + " of links is listed twice");
  }
}

bool leads_forth(const Direction& d) { return d > Direction{0, 0, 0}; }

}  // namespace

struct Bodies::Impl {
  std::vector<Body> bodies;
  Box cells;  ///< with ghosts
  Surfaces surfaces;
  mutable std::mutex mutex;
  mutable std::map<Direction, LineIndex> indices;

  // Made when first needed: most runs need those of one lattice, and a domain that is only planned needs one.
  const LineIndex& lines(const Direction& along) const {
    std::lock_guard lock(mutex);
    return indices.try_emplace(along, surfaces, along, grown(cells, {1, 1, 1})).first->second;
  }

  SolidRows rows(const Box& box) const { return SolidRows(lines({1, 0, 0}), box); }

  void require_covered(const Box& box) const {
    require(intersection(box, cells) == box || box.empty(),
            "bodies are asked for cells outside of the domain and its ghost layers; make them with more ghosts");
  }
};

Bodies::Bodies(std::vector<Body> bodies, const MeshDomain& domain, std::int64_t ghosts)
    : impl_(std::make_unique<Impl>()) {
  check(bodies);
  require(domain.spacing > 0 && ghosts >= 0 && !Box{{0, 0, 0}, domain.cells}.empty(),
          "bodies need a domain with cells and a positive spacing");
  std::int64_t triangles = 0, vertices = 0;
  for (const Body& body : bodies) {
    triangles += static_cast<std::int64_t>(body.mesh.triangles.size());
    vertices += static_cast<std::int64_t>(body.mesh.vertices.size());
  }
  require(
      std::max(triangles, vertices) < std::int64_t{1} << 31,
      std::to_string(triangles) + " triangles in all bodies: fewer than 2^31 can be numbered; make the meshes coarser");
  impl_->surfaces = surfaces_of(bodies, domain);
  impl_->bodies = std::move(bodies);
  impl_->cells = grown({{0, 0, 0}, domain.cells}, {ghosts, ghosts, ghosts});
}

Bodies::Bodies(Bodies&&) noexcept = default;
Bodies& Bodies::operator=(Bodies&&) noexcept = default;
Bodies::~Bodies() = default;

std::int64_t Bodies::count() const { return static_cast<std::int64_t>(impl_->bodies.size()); }

const Body& Bodies::body(std::int64_t number) const { return impl_->bodies.at(number); }

std::int64_t Bodies::number_of(const std::string& name) const {
  std::string names;
  for (std::size_t b = 0; b < impl_->bodies.size(); ++b) {
    if (impl_->bodies[b].name == name) return static_cast<std::int64_t>(b);
    names += (b == 0 ? "'" : ", '") + impl_->bodies[b].name + "'";
  }
  throw Error("there is no body '" + name + "'" + (names.empty() ? "" : ": the bodies are " + names));
}

std::vector<std::uint16_t> Bodies::solid(const Box& cells) const {
  std::vector<std::uint16_t> result(cells.volume());
  solid(cells, result.data());
  return result;
}

void Bodies::solid(const Box& cells, std::uint16_t* out) const {
  impl_->require_covered(cells);
  const SolidRows rows = impl_->rows(cells);
  if (cells.empty()) return;
  const auto fill_plane = [&](std::int64_t plane) {
    std::uint16_t* first = out + plane * cells.extent(1) * cells.extent(0);
    for (std::int64_t y = cells.lo[1]; y < cells.hi[1]; ++y, first += cells.extent(0)) {
      std::fill_n(first, cells.extent(0), std::uint16_t{0});
      for (const SolidSpan& span : rows.row(y, cells.lo[2] + plane))
        std::fill(first + span.lo - cells.lo[0], first + span.hi - cells.lo[0],
                  static_cast<std::uint16_t>(span.body + 1));
    }
  };
  for_each_item(cells.extent(2), fill_plane, cells.extent(0) * cells.extent(1));
}

std::int64_t Bodies::solid_cells(const Box& cells) const {
  impl_->require_covered(cells);
  return impl_->rows(cells).cells();
}

std::vector<Cut> Bodies::cuts(const Box& cells, const std::vector<Direction>& directions) const {
  impl_->require_covered(cells);
  check(directions);
  if (cells.empty()) return {};
  std::map<Direction, CutDirections> families;
  for (std::size_t d = 0; d < directions.size(); ++d) {
    const bool forth = leads_forth(directions[d]);
    const Direction along = forth ? directions[d] : opposite(directions[d]);
    CutDirections& family = families.try_emplace(along, CutDirections{&impl_->lines(along)}).first->second;
    (forth ? family.forth : family.back) = static_cast<int>(d);
  }
  std::vector<CutDirections> list;
  for (const auto& [along, family] : families) list.push_back(family);
  return find_cuts(impl_->surfaces, impl_->rows(grown(cells, {1, 1, 1})), directions, list);
}

}  // namespace slipstream

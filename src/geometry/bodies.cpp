#include <slipstream/bodies.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>

#include <slipstream/error.hpp>

#include "device/work_items.hpp"
#include "geometry/cut_search.hpp"
#include "geometry/solid_rows.hpp"
#include "geometry/surfaces.hpp"

namespace slipstream {
namespace {

void check(const std::vector<Body>& bodies) {
  require(
      bodies.size() <= 65535, ErrorCode::unsupported,
      std::to_string(bodies.size()) + " bodies: at most 65535 can be told apart; join those that need no force each",
      {{"given", bodies.size()}, {"limit", 65535}});
  std::set<std::string> names;
  for (const Body& body : bodies) {
    require(!body.name.empty(), "a body has no name: give each one", {{"option", "name"}});
    require(names.insert(body.name).second, "two bodies are called '" + body.name + "': give each its own name",
            {{"option", "name"}, {"body", body.name}});
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
    require(step && d != Direction{0, 0, 0}, "direction " + text(d) + " of a link is no step to a neighbour",
            {{"direction", text(d)}});
    require(seen.insert(d).second, "direction " + text(d) + " of links is listed twice", {{"direction", text(d)}});
  }
}

bool leads_forth(const Direction& d) { return d > Direction{0, 0, 0}; }

}  // namespace

struct Bodies::Impl {
  std::vector<Body> bodies;
  Box cells;  ///< cells of the domain, including ghosts
  Surfaces surfaces;
  mutable std::mutex mutex;
  mutable std::map<Direction, LineIndex> indices;

  // Bodies are cut by lines of a direction at its first use: a run needs a lattice's directions, a memory estimate one.
  const LineIndex& lines(const Direction& along) const {
    std::lock_guard lock(mutex);
    return indices.try_emplace(along, surfaces, along, grown(cells, {1, 1, 1})).first->second;
  }

  SolidRows rows(const Box& box) const { return SolidRows(lines({1, 0, 0}), box); }

  void fill(const Box& box, std::uint16_t* out) const {
    const SolidRows solid = rows(box);
    if (box.empty()) return;
    const auto fill_plane = [&](std::int64_t plane) {
      std::uint16_t* first = out + plane * box.extent(1) * box.extent(0);
      for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y, first += box.extent(0)) {
        std::fill_n(first, box.extent(0), std::uint16_t{0});
        for (const SolidSpan& span : solid.row(y, box.lo[2] + plane))
          std::fill(first + span.lo - box.lo[0], first + span.hi - box.lo[0],
                    static_cast<std::uint16_t>(span.body + 1));
      }
    };
    for_each_item(box.extent(2), fill_plane, box.extent(0) * box.extent(1));
  }

  /// Throws if a body is longer than the domain along a periodic axis but does not repeat with it.
  void require_round(const MeshDomain& domain) const {
    for (std::size_t n = 0; n < bodies.size(); ++n) {
      const Bounds bounds = slipstream::bounds(bodies[n].mesh);
      for (int a = 0; a < 3; ++a) {
        if (!domain.periodic[a] || bodies[n].continued[a] || !longer_than(domain, bounds, a)) continue;
        const std::string axis(1, "xyz"[a]);
        char length[32];
        std::snprintf(length, sizeof length, "%.6g", (bounds.hi[a] - bounds.lo[a]) / domain.spacing);
        require(goes_on(static_cast<std::uint16_t>(n + 1), domain, a), ErrorCode::unsupported,
                "body '" + bodies[n].name + "' is " + length + " cells long along " + axis +
                    ", longer than the period of " + std::to_string(domain.cells[a]) +
                    ", and does not repeat periodically: "
                    "give the domain more cells along " +
                    axis + ", or make the body shorter",
                {{"body", bodies[n].name}, {"axis", axis}, {"length", length}, {"limit", domain.cells[a]}});
      }
    }
  }

  /// Whether a body's layers of cells beyond both ends of an axis equal the layers at the opposite ends.
  bool goes_on(std::uint16_t body, const MeshDomain& domain, int axis) const {
    const auto layer = [&](std::int64_t place) {
      Box box{{0, 0, 0}, domain.cells};
      box.lo[axis] = place;
      box.hi[axis] = place + 1;
      std::vector<std::uint16_t> held(box.volume());
      fill(box, held.data());
      std::vector<bool> own(held.size());
      std::transform(held.begin(), held.end(), own.begin(), [&](std::uint16_t holder) { return holder == body; });
      return own;
    };
    const std::int64_t n = domain.cells[axis];
    return layer(-1) == layer(n - 1) && layer(n) == layer(0);
  }

  void require_covered(const Box& box) const {
    require(
        intersection(box, cells) == box || box.empty(), ErrorCode::unsupported,
        "cells outside of the domain and its ghost layers were requested from bodies; construct them with more ghosts");
  }
};

Bodies::Bodies(std::vector<Body> bodies, const MeshDomain& domain, std::int64_t ghosts)
    : impl_(std::make_unique<Impl>()) {
  check(bodies);
  require(domain.spacing > 0 && ghosts >= 0 && !Box{{0, 0, 0}, domain.cells}.empty(),
          "bodies need a domain with cells and a positive spacing");
  impl_->surfaces = surfaces_of(bodies, domain, ghosts + 1);
  impl_->bodies = std::move(bodies);
  impl_->cells = grown({{0, 0, 0}, domain.cells}, {ghosts, ghosts, ghosts});
  impl_->require_round(domain);
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
  throw Error(ErrorCode::not_found,
              "there is no body '" + name + "'" + (names.empty() ? "" : ": the bodies are " + names),
              {{"body", name}, {"choices", names}});
}

std::vector<std::uint16_t> Bodies::solid(const Box& cells) const {
  std::vector<std::uint16_t> result(cells.volume());
  solid(cells, result.data());
  return result;
}

void Bodies::solid(const Box& cells, std::uint16_t* out) const {
  impl_->require_covered(cells);
  impl_->fill(cells, out);
}

std::int64_t Bodies::solid_cells(const Box& cells) const {
  impl_->require_covered(cells);
  return impl_->rows(cells).cells();
}

std::vector<std::int64_t> Bodies::centres(const Box& cells) const {
  impl_->require_covered(cells);
  const LineIndex& along_x = impl_->lines({1, 0, 0});
  const auto tiles = along_x.tiles_through(cells);
  std::vector<std::int64_t> counts(impl_->bodies.size());
  std::mutex mutex;
  for_each_item(static_cast<std::int64_t>(tiles.size()), [&](std::int64_t item) {
    std::map<std::int32_t, std::int64_t> found;
    for (const Inside& piece : along_x.inside(tiles[item], cells)) {
      const SolidSpan span = span_of(piece, cells);
      found[piece.body] += span.hi - span.lo;
    }
    const std::lock_guard lock(mutex);
    for (const auto& [body, count] : found) counts[body] += count;
  });
  return counts;
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

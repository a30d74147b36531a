#include "geometry/cut_search.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "device/work_items.hpp"
#include "geometry/mesh_vectors.hpp"

namespace slipstream {
namespace {

class CutSearch {
 public:
  CutSearch(const Surfaces& surfaces, const SolidRows& rows, const std::vector<Direction>& directions,
            const std::vector<CutDirections>& families)
      : surfaces_(surfaces),
        rows_(rows),
        directions_(directions),
        families_(families),
        box_(grown(rows.box(), {-1, -1, -1})) {}

  std::vector<Cut> run() const {
    std::vector<std::vector<Cut>> planes(std::max<std::int64_t>(0, box_.extent(2)));
    for (const CutDirections& family : families_) {
      const auto tiles = family.lines->tiles_through(box_);
      std::vector<std::vector<Cut>> found(tiles.size());
      for_each_item(static_cast<std::int64_t>(tiles.size()), [&](std::int64_t item) {
        if (!family.lines->surface_near(tiles[item], box_)) return;
        for (const Inside& piece : family.lines->inside(tiles[item], box_)) meet(family, piece, found[item]);
      });
      for (const auto& tile : found)
        for (const Cut& cut : tile) planes[cut.cell[2] - box_.lo[2]].push_back(cut);
    }
    for_each_item(static_cast<std::int64_t>(planes.size()),
                  [&](std::int64_t plane) { complete(planes[plane], box_.lo[2] + plane); });
    std::vector<Cut> all;
    std::size_t count = 0;
    for (const auto& plane : planes) count += plane.size();
    all.reserve(count);
    for (auto& plane : planes) {
      all.insert(all.end(), plane.begin(), plane.end());
      std::vector<Cut>().swap(plane);
    }
    return all;
  }

 private:
  // Key for sorting links. It has bits for row indices and cell indices in rows below 2^31, and for 26 directions.
  std::uint64_t link_of(const Cut& cut) const {
    return row_of(cut.cell[1]) + static_cast<std::uint64_t>(cut.cell[0] - box_.lo[0]) * 32 + cut.direction;
  }
  std::uint64_t row_of(std::int64_t y) const { return static_cast<std::uint64_t>(y - box_.lo[1]) << 36; }

  // Adds the links that a segment inside a body cuts: one at its start, and one in the opposite direction at its end.
  void meet(const CutDirections& family, const Inside& piece, std::vector<Cut>& found) const {
    if (piece.out - piece.in <= blurred) return;  // the line touches the body's surface without entering
    if (family.forth >= 0) cut(family, piece, +1, found);
    if (family.back >= 0) cut(family, piece, -1, found);
  }

  void cut(const CutDirections& family, const Inside& piece, int way, std::vector<Cut>& found) const {
    const double place = way > 0 ? piece.in : piece.out;
    if (std::abs(place) > 4e9) return;
    const LineFamily& line = family.lines->family();
    const double nearest = std::nearbyint(place);
    auto step = static_cast<std::int64_t>(way > 0 ? std::floor(place) : std::ceil(place));
    if (std::abs(place - nearest) <= blurred) {
      step = static_cast<std::int64_t>(nearest);
      const Extent there = line.cell(piece.v, piece.w, step);
      if (rows_.box().contains(there) && rows_.solid(there)) step -= way;
    }
    const Extent from = line.cell(piece.v, piece.w, step);
    if (!box_.contains(from) || rows_.solid(from)) return;
    const double q = std::clamp(way * (place - static_cast<double>(step)), blurred, 1.0);
    const std::int32_t triangle = way > 0 ? piece.triangle_in : piece.triangle_out;
    Cut result;
    for (int a = 0; a < 3; ++a) result.cell[a] = static_cast<std::int32_t>(from[a]);
    result.direction = static_cast<std::uint16_t>(way > 0 ? family.forth : family.back);
    result.body = static_cast<std::uint16_t>(piece.body);
    result.triangle = static_cast<std::int32_t>((triangle - surfaces_.first[piece.body]) % surfaces_.own[piece.body]);
    result.q = static_cast<float>(q);
    Extent to = from;
    for (int a = 0; a < 3; ++a) to[a] += directions_[result.direction][a];
    result.through = !rows_.solid(to) && sides_face_away(piece);
    found.push_back(result);
  }

  // Whether surface normals where a line enters and leaves a body differ by over 150 degrees (edges below 30 degrees).
  bool sides_face_away(const Inside& piece) const {
    const auto normal = [&](std::int32_t triangle) {
      const auto& [a, b, c] = surfaces_.triangles[triangle];
      return cross(surfaces_.vertices[b] - surfaces_.vertices[a], surfaces_.vertices[c] - surfaces_.vertices[a]);
    };
    const Point in = normal(piece.triangle_in), out = normal(piece.triangle_out);
    return dot(in, out) < -0.866 * std::sqrt(dot(in, in) * dot(out, out));
  }

  // Keeps the nearest cut of each link. Adds links to solid cells whose line only touches the surface.
  void complete(std::vector<Cut>& cuts, std::int64_t z) const {
    std::sort(cuts.begin(), cuts.end(), [&](const Cut& a, const Cut& b) {
      const std::uint64_t link_a = link_of(a), link_b = link_of(b);
      return link_a != link_b ? link_a < link_b : std::tie(a.q, a.body, a.triangle) < std::tie(b.q, b.body, b.triangle);
    });
    const auto same = [&](const Cut& a, const Cut& b) { return link_of(a) == link_of(b); };
    cuts.erase(std::unique(cuts.begin(), cuts.end(), same), cuts.end());

    const auto before = [&](const Cut& cut, std::uint64_t link) { return link_of(cut) < link; };
    auto row = cuts.begin();
    std::vector<Cut> missed;
    for (std::int64_t y = box_.lo[1]; y < box_.hi[1]; ++y) {
      const auto row_end = std::lower_bound(row, cuts.end(), row_of(y + 1), before);
      for (std::size_t d = 0; d < directions_.size(); ++d)
        for_each_link(y, z, d, [&](const Cut& link) {
          const auto found = std::lower_bound(row, row_end, link_of(link), before);
          if (found != row_end && same(*found, link)) return;
          missed.push_back(link);
          touch(missed.back());
        });
      row = row_end;
    }
    if (missed.empty()) return;
    cuts.insert(cuts.end(), missed.begin(), missed.end());
    std::sort(cuts.begin(), cuts.end(), [&](const Cut& a, const Cut& b) { return link_of(a) < link_of(b); });
  }

  // Sets the body and cut position q (a fraction) of a link between a fluid and a solid cell that crosses no surface.
  // Then one of both cell centres is on the surface. At a solid centre, the link touches an edge there. At a fluid
  // centre, the body has a notch of zero width or touches itself, and the link continues inside it.
  void touch(Cut& link) const {
    const Extent from{link.cell[0], link.cell[1], link.cell[2]};
    for (const CutDirections& family : families_) {
      if (family.forth != link.direction && family.back != link.direction) continue;
      const auto step = static_cast<double>(from[family.lines->family().u]);
      const Box cell{from, {from[0] + 1, from[1] + 1, from[2] + 1}};
      for (const std::int64_t tile : family.lines->tiles_through(cell))
        for (const Inside& piece : family.lines->inside(tile, cell))
          if (piece.in < step - blurred && step + blurred < piece.out) {
            link.body = static_cast<std::uint16_t>(piece.body);
            link.q = static_cast<float>(blurred);
            return;
          }
    }
  }

  // Visits the links of a row that lead from fluid to solid cells along one direction.
  template <class Visit>
  void for_each_link(std::int64_t y, std::int64_t z, std::size_t d, const Visit& visit) const {
    const Direction& direction = directions_[d];
    const auto own = rows_.row(y, z), other = rows_.row(y + direction[1], z + direction[2]);
    auto solid = own.begin();
    for (const SolidSpan& target : other) {
      std::int64_t x = std::max<std::int64_t>(target.lo - direction[0], box_.lo[0]);
      const std::int64_t end = std::min<std::int64_t>(target.hi - direction[0], box_.hi[0]);
      while (x < end) {
        while (solid != own.end() && solid->hi <= x) ++solid;
        if (solid != own.end() && solid->lo <= x) {
          x = solid->hi;
          continue;
        }
        Cut link;
        link.cell = {static_cast<std::int32_t>(x), static_cast<std::int32_t>(y), static_cast<std::int32_t>(z)};
        link.direction = static_cast<std::uint16_t>(d);
        link.body = static_cast<std::uint16_t>(target.body);
        visit(link);
        ++x;
      }
    }
  }

  const Surfaces& surfaces_;
  const SolidRows& rows_;
  const std::vector<Direction>& directions_;
  const std::vector<CutDirections>& families_;
  Box box_;
};

}  // namespace

std::vector<Cut> find_cuts(const Surfaces& surfaces, const SolidRows& rows, const std::vector<Direction>& directions,
                           const std::vector<CutDirections>& families) {
  return CutSearch(surfaces, rows, directions, families).run();
}

}  // namespace slipstream

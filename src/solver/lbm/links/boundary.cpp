// Classifies the neighbours of a block's cells: fluid, domain boundary or body.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "device/work_items.hpp"
#include "solver/lbm/lattice/fields.hpp"
#include "solver/lbm/lattice/lattice.hpp"
#include "solver/lbm/links/neighbours.hpp"

namespace slipstream::lbm {
namespace {

/// Rank of a side in the order of precedence at edges; lower ranks win.
int rank_of(const Options& options, int side) {
  const auto found = options.boundaries.find(static_cast<Side>(side));
  if (found != options.boundaries.end()) return 2 + static_cast<int>(found->second.kind);
  return wall_velocity(options, side) == std::array<double, 3>{0, 0, 0} ? 0 : 1;
}

/// A part of a box inside of the domain or one periodic image, with its offset in whole periods.
struct Piece {
  Box box;
  Extent to_domain;
};

/// Cuts a box into parts inside of the domain and of its periodic images.
std::vector<Piece> pieces_of(const Grid& grid, const Box& box) {
  std::vector<Piece> pieces{{box, {0, 0, 0}}};
  for (int a = 0; a < 3; ++a) {
    const std::int64_t n = grid.extent()[a];
    std::vector<Piece> cut;
    for (const Piece& piece : pieces)
      for (int image = grid.periodic()[a] ? -1 : 0; image <= (grid.periodic()[a] ? 1 : 0); ++image) {
        Piece part = piece;
        part.box.lo[a] = std::max(part.box.lo[a], image * n);
        part.box.hi[a] = std::min(part.box.hi[a], (image + 1) * n);
        part.to_domain[a] = -image * n;
        if (!part.box.empty()) cut.push_back(part);
      }
    pieces = std::move(cut);
  }
  return pieces;
}

template <class L>
std::vector<Direction> directions_of(L) {
  std::vector<Direction> all;
  for (int i = 1; i < L::q; ++i) all.push_back({L::velocity[i][0], L::velocity[i][1], L::velocity[i][2]});
  return all;
}

void mark_bodies(const Grid& grid, const Surfaces& surfaces, Surroundings& s) {
  s.bodies.assign(s.around.volume(), 0);
  for (const auto& [box, to_domain] : pieces_of(grid, s.around)) {
    const auto held = surfaces.solid(shifted(box, to_domain));
    const auto mark = [&, &box = box](std::int64_t plane) {
      const std::uint16_t* from = held.data() + plane * box.extent(1) * box.extent(0);
      for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y, from += box.extent(0)) {
        const std::int64_t row = index_in(s.around, {box.lo[0], y, box.lo[2] + plane});
        std::copy_n(from, box.extent(0), s.bodies.begin() + row);
        for (std::int64_t x = 0; x < box.extent(0); ++x)
          if (from[x] != 0) s.flags[row + x] = solid;
      }
    };
    for_each_item(box.extent(2), mark, box.extent(0) * box.extent(1));
  }
}

}  // namespace

Surfaces checked(Surfaces surfaces) {
  const std::size_t names = surfaces.names.size(), told = surfaces.half_way.size();
  require(told == 0 || told == names, ErrorCode::mismatch,
          "half_way of surfaces has " + std::to_string(told) + " values for " + std::to_string(names) +
              " bodies: give one for each name, or none",
          {{"option", "half_way"}, {"given", told}, {"needed", names}});
  return surfaces;
}

bool interpolates(const Surfaces& surfaces) {
  const auto& half_way = surfaces.half_way;
  return surfaces.cuts && (half_way.empty() || std::find(half_way.begin(), half_way.end(), false) != half_way.end());
}

std::array<double, 3> wall_velocity(const Options& options, int side) {
  const auto found = options.walls.find(static_cast<Side>(side));
  return found == options.walls.end() ? std::array<double, 3>{0, 0, 0} : found->second;
}

bool is_wall(const Options& options, int side) {
  return !options.periodic[side / 2] && !options.boundaries.contains(static_cast<Side>(side));
}

bool is_open(const Options& options) {
  return std::any_of(options.boundaries.begin(), options.boundaries.end(),
                     [](const auto& side) { return side.second.kind != BoundaryKind::slip; });
}

int convective_side(const Options& options) {
  for (const auto& [side, boundary] : options.boundaries)
    if (boundary.kind == BoundaryKind::convective) return static_cast<int>(side);
  return -1;
}

int side_behind(const Grid& grid, const Options& options, const Extent& p) {
  int behind = -1;
  for (int a = 0; a < 3; ++a) {
    if (grid.periodic()[a] || (p[a] >= 0 && p[a] < grid.extent()[a])) continue;
    const int side = 2 * a + (p[a] < 0 ? 0 : 1);
    if (behind < 0 || rank_of(options, side) <= rank_of(options, behind)) behind = side;
  }
  return behind;
}

Margins beyond_sides(const Grid& grid, const Box& box) {
  Margins layers;
  for (int a = 0; a < grid.dimensions(); ++a) {
    if (grid.periodic()[a]) continue;
    layers.low[a] = std::max<std::int64_t>(0, -box.lo[a]);
    layers.high[a] = std::max<std::int64_t>(0, box.hi[a] - grid.extent()[a]);
  }
  return layers;
}

std::int64_t count_fluid(const Surroundings& s, const Box& box) {
  std::vector<std::int64_t> planes(box.extent(2));
  const auto count = [&](std::int64_t plane) {
    for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y) {
      const auto row = s.flags.begin() + index_in(s.around, {box.lo[0], y, box.lo[2] + plane});
      planes[plane] += std::count(row, row + box.extent(0), fluid);
    }
  };
  for_each_item(box.extent(2), count, box.extent(0) * box.extent(1));
  return std::accumulate(planes.begin(), planes.end(), std::int64_t{0});
}

std::vector<std::int64_t> count_through(const Grid& grid, const Options& options, const Surroundings& s,
                                        std::size_t bodies) {
  std::vector<std::int64_t> counts(bodies);
  const auto directions = with_lattice(options.lattice, [](auto lattice) { return directions_of(lattice); });
  for (const Cut& cut : s.cuts) {
    const Direction& d = directions[cut.direction];
    const Extent to{cut.cell[0] + d[0], cut.cell[1] + d[1], cut.cell[2] + d[2]};
    if (cut.through && d > Direction{0, 0, 0} && side_behind(grid, options, to) < 0) ++counts.at(cut.body);
  }
  return counts;
}

Surroundings surroundings_of(const Grid& grid, const Block& block, const Options& options, const Extent& ghost,
                             const Surfaces& surfaces) {
  Surroundings s;
  s.around = grown(block.box, ghost);
  s.flags.assign(s.around.volume(), fluid);
  for (const Box& slab : split_boundary(s.around, beyond_sides(grid, s.around)).boundary)
    for_each_cell(slab, [&](const Extent& p) {
      s.flags[index_in(s.around, p)] = static_cast<std::uint8_t>(1 + side_behind(grid, options, p));
    });
  if (surfaces.solid) mark_bodies(grid, surfaces, s);
  s.half_way = surfaces.half_way;
  if (surfaces.cuts)
    s.cuts =
        with_lattice(options.lattice, [&](auto lattice) { return surfaces.cuts(block.box, directions_of(lattice)); });
  return s;
}

}  // namespace slipstream::lbm

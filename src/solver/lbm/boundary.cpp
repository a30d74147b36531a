// Half-way bounce-back (Ladd 1994). A population that a fluid cell would pull out of a wall cell is put there before
// the pull: what the fluid cell sent at the wall, plus the wall's momentum. The streaming kernel then knows no walls.
#include <algorithm>

#include "solver/lbm/fields.hpp"
#include "solver/lbm/lattice.hpp"
#include "solver/lbm/places.hpp"

namespace slipstream::lbm {
namespace {

std::array<double, 3> wall_velocity(const Options& options, int side) {
  const auto found = options.walls.find(static_cast<Side>(side));
  return found == options.walls.end() ? std::array<double, 3>{0, 0, 0} : found->second;
}

bool rests(const Options& options, int side) {
  const auto u = wall_velocity(options, side);
  return u[0] == 0 && u[1] == 0 && u[2] == 0;
}

/// The wall that a point outside the domain lies behind, or -1. At edges a resting wall wins over a moving one.
int wall_behind(const Grid& grid, const Options& options, const Extent& p) {
  int wall = -1;
  for (int a = 0; a < 3; ++a) {
    if (grid.periodic()[a] || (p[a] >= 0 && p[a] < grid.extent()[a])) continue;
    const int side = 2 * a + (p[a] < 0 ? 0 : 1);
    if (wall < 0 || rests(options, side) || !rests(options, wall)) wall = side;
  }
  return wall;
}

Extent wrapped(const Grid& grid, Extent p) {
  for (int a = 0; a < 3; ++a)
    if (grid.periodic()[a]) p[a] = (p[a] % grid.extent()[a] + grid.extent()[a]) % grid.extent()[a];
  return p;
}

std::int64_t index_in(const Box& box, const Extent& p) {
  return ((p[2] - box.lo[2]) * box.extent(1) + (p[1] - box.lo[1])) * box.extent(0) + (p[0] - box.lo[0]);
}

template <class F>
void for_each_cell(const Box& box, F f) {
  for (std::int64_t z = box.lo[2]; z < box.hi[2]; ++z)
    for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y)
      for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x) f(Extent{x, y, z});
}

/// Layers of a box that lie outside the domain, behind its walls.
Margins beyond_walls(const Grid& grid, const Box& box) {
  Margins layers;
  for (int a = 0; a < grid.dimensions(); ++a) {
    if (grid.periodic()[a]) continue;
    layers.low[a] = std::max<std::int64_t>(0, -box.lo[a]);
    layers.high[a] = std::max<std::int64_t>(0, box.hi[a] - grid.extent()[a]);
  }
  return layers;
}

Cell local(const Block& block, const Extent& p) {
  const auto part = [&](int a) { return static_cast<std::int32_t>(p[a] - block.box.lo[a]); };
  return {part(0), part(1), part(2)};
}

/// In the order of memory, so that neighbouring threads touch neighbouring values.
void sort(std::vector<Link>& links, Layout layout) {
  std::sort(links.begin(), links.end(), [layout](const Link& a, const Link& b) {
    const auto key = [layout](const Link& l) {
      return layout == Layout::soa ? std::array<int, 4>{l.in.i, l.cell.z, l.cell.y, l.cell.x}
                                   : std::array<int, 4>{l.cell.z, l.cell.y, l.cell.x, l.in.i};
    };
    return key(a) < key(b);
  });
}

template <class L>
Links links_of(const Grid& grid, const Block& block, const Options& options, const std::vector<std::uint8_t>& flags,
               const Box& around, bool with_bodies) {
  Links links;
  const auto at_cell = [&](const Extent& x) {
    if (flags[index_in(around, x)] != fluid) return;
    for (int i = 1; i < L::q; ++i) {
      Extent from{x[0] - L::velocity[i][0], x[1] - L::velocity[i][1], x[2] - L::velocity[i][2]};
      // Where the kernel wraps round, the cell lies at the block's other end.
      for (int a = 0; a < 3; ++a)
        if (around.extent(a) == block.box.extent(a) && grid.periodic()[a])
          from[a] = (from[a] + grid.extent()[a]) % grid.extent()[a];
      const std::uint8_t flag = flags[index_in(around, from)];
      if (flag == fluid) continue;
      Link link{local(block, x), heading_of<L>(i), 0};
      if (flag != solid) {
        const auto u = wall_velocity(options, flag - 1);
        for (int a = 0; a < 3; ++a) link.term += 6 * L::weight(i) * L::velocity[i][a] * u[a];
      }
      const bool beyond_domain = wall_behind(grid, options, from) >= 0;
      (beyond_domain || block.box.contains(from) ? links.local : links.exchanged).push_back(link);
    }
  };
  if (with_bodies) {
    for_each_cell(block.box, at_cell);
  } else {
    for (const Box& slab : split_rim(block.box, beyond_walls(grid, grown(block.box, {1, 1, 1}))).rim)
      for_each_cell(slab, at_cell);
  }
  sort(links.local, options.layout);
  sort(links.exchanged, options.layout);
  return links;
}

}  // namespace

std::vector<std::uint8_t> flags_around(const Grid& grid, const Box& around, const Options& options,
                                       const std::vector<std::uint8_t>& mask) {
  std::vector<std::uint8_t> flags(around.volume(), fluid);
  const InteriorAndRim split = split_rim(around, beyond_walls(grid, around));
  for (const Box& slab : split.rim)
    for_each_cell(slab, [&](const Extent& p) {
      flags[index_in(around, p)] = static_cast<std::uint8_t>(1 + wall_behind(grid, options, p));
    });
  if (!mask.empty())
    for_each_cell(split.interior, [&](const Extent& p) {
      if (mask[index_in(grid.box(), wrapped(grid, p))]) flags[index_in(around, p)] = solid;
    });
  return flags;
}

Links make_links(const Grid& grid, const Block& block, const Options& options, const std::vector<std::uint8_t>& flags,
                 const Box& around, bool with_bodies) {
  return with_lattice(options.lattice,
                      [&]<class L>(L) { return links_of<L>(grid, block, options, flags, around, with_bodies); });
}

}  // namespace slipstream::lbm

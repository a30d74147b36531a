// Half-way bounce-back (Ladd 1994). A population that a fluid cell would pull out of a wall cell is put there before
// the pull: what the fluid cell sent at the wall, plus the wall's momentum. The streaming kernel then knows no walls.
#include <algorithm>

#include "solver/lbm/fields.hpp"
#include "solver/lbm/lattice.hpp"

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

template <class L>
Links links_of(const Grid& grid, const Block& block, const Options& options, const BlockShape& shape,
               const std::vector<std::uint8_t>& flags, const Box& around) {
  Links links;
  const auto element = [&](const Extent& p, int population) {
    std::int64_t at = population * shape.component_stride;
    for (int a = 0; a < 3; ++a) at += (p[a] - block.box.lo[a]) * shape.stride[a];
    return at;
  };
  for_each_cell(block.box, [&](const Extent& x) {
    if (flags[index_in(around, x)] != fluid) return;
    for (int i = 1; i < L::q; ++i) {
      const Extent from{x[0] - L::velocity[i][0], x[1] - L::velocity[i][1], x[2] - L::velocity[i][2]};
      const std::uint8_t flag = flags[index_in(around, from)];
      if (flag == fluid) continue;
      Link link{element(x, opposite_of(i)), element(from, i), 0};
      if (flag != solid) {
        const auto u = wall_velocity(options, flag - 1);
        for (int a = 0; a < 3; ++a) link.term += 6 * L::weight(i) * L::velocity[i][a] * u[a];
      }
      const bool beyond_domain = wall_behind(grid, options, from) >= 0;
      (beyond_domain || block.box.contains(from) ? links.local : links.exchanged).push_back(link);
    }
  });
  // In the order of memory, so that neighbouring threads touch neighbouring values.
  const auto by_target = [](const Link& a, const Link& b) { return a.target < b.target; };
  std::sort(links.local.begin(), links.local.end(), by_target);
  std::sort(links.exchanged.begin(), links.exchanged.end(), by_target);
  return links;
}

}  // namespace

std::vector<std::uint8_t> flags_around(const Grid& grid, const Box& around, const Options& options,
                                       const std::vector<std::uint8_t>& mask) {
  std::vector<std::uint8_t> flags(around.volume(), fluid);
  for_each_cell(around, [&](const Extent& p) {
    std::uint8_t& flag = flags[index_in(around, p)];
    if (const int wall = wall_behind(grid, options, p); wall >= 0) {
      flag = static_cast<std::uint8_t>(1 + wall);
    } else if (!mask.empty() && mask[index_in(grid.box(), wrapped(grid, p))]) {
      flag = solid;
    }
  });
  return flags;
}

Links make_links(const Grid& grid, const Block& block, const Options& options, const BlockShape& shape,
                 const std::vector<std::uint8_t>& flags, const Box& around) {
  return options.lattice == Lattice::d2q9 ? links_of<D2Q9>(grid, block, options, shape, flags, around)
                                          : links_of<D3Q19>(grid, block, options, shape, flags, around);
}

}  // namespace slipstream::lbm

#pragma once
// Boundary conditions at walls, bodies and openings, as lists of links. They name cells and velocities, not arrays:
// Places tells where a population lies.
#include <cstdint>
#include <map>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/lbm.hpp>

#include "solver/lbm/lattice/kinds.hpp"

namespace slipstream::lbm {

/// Lists of a block's boundary links by kind. All are applied at the same point of a step, in the order of the members.
struct LinkLists {
  std::vector<Link> added;  ///< links across a periodic pressure drop: they add a term to arriving populations
  std::vector<Link> half_way;
  std::vector<Link> resting;  ///< half-way bounce-back links at walls at rest, sorted by population
  std::vector<CopiedLink> copied;
  std::vector<PressureCell> pressure;
  std::vector<ConvectiveLink> convective;
  std::vector<HeldCell> held;
  std::vector<InterpolatedCell> interpolated;  ///< interpolated bounce-back; last, as it changes populations at rest
};
/// Takes two sets of lists of links, a and b. Calls f with the two lists of each kind of link except walls at rest.
template <class Lists, class Other, class F>
void each_kind(Lists& a, Other& b, const F& f) {
  f(a.added, b.added);
  f(a.half_way, b.half_way);
  f(a.copied, b.copied);
  f(a.pressure, b.pressure);
  f(a.convective, b.convective);
  f(a.held, b.held);
  f(a.interpolated, b.interpolated);
}
/// All boundary links of a block. Local ones may be applied before the exchange, which brings or overwrites the
/// populations of the others.
struct Links {
  LinkLists local, exchanged;
  std::vector<double> shares;  ///< interpolation weights of boundary links, of the local and of the exchanged ones
  /// lists of the boundary links that exert force, by surface: a Side, or first_body + the number of a body
  std::map<int, std::vector<LoadLink>> loads;
};
constexpr int first_body = 6;

/// The kinds of the cells in and around a block: fluid, domain boundary or body.
struct Surroundings {
  Box around;                         ///< box of the block with its ghosts
  std::vector<std::uint8_t> flags;    ///< kind of each cell, [z][y][x]
  std::vector<std::uint16_t> bodies;  ///< 1 + the number of the body in each cell, [z][y][x]; empty without bodies
  std::vector<Cut> cuts;              ///< intersections of the block's links with bodies
  std::vector<bool> half_way;         ///< whether a body's links are half-way, by body
};
/// Returns `surfaces` after checking that kinds of links are given for each body or for none. Throws Error.
Surfaces checked(Surfaces surfaces);
/// Whether any body has interpolated links.
bool interpolates(const Surfaces& surfaces);
Surroundings surroundings_of(const Grid& grid, const Block& block, const Options& options, const Extent& ghost,
                             const Surfaces& surfaces);

/// The side that a point outside of the domain lies behind, or -1. At edges a resting wall takes precedence over a
/// moving one; then come velocity, pressure, convective and slip. Among equal kinds the later axis wins.
int side_behind(const Grid& grid, const Options& options, const Extent& p);
/// Velocity of a wall; zero if none was given.
std::array<double, 3> wall_velocity(const Options& options, int side);
bool is_wall(const Options& options, int side);
inline bool is_resting_wall(const Options& options, int side) {
  return is_wall(options, side) && wall_velocity(options, side) == std::array<double, 3>{0, 0, 0};
}
/// Whether a box of cells touches a side of the domain.
inline bool lies_along(const Grid& grid, const Box& box, int side) {
  const int a = side / 2;
  return side % 2 == 0 ? box.lo[a] == 0 : box.hi[a] == grid.extent()[a];
}
/// Whether fluid can flow in or out through any side.
bool is_open(const Options& options);
/// Whether a side is a pressure or convective one, which reads populations that its cells sent inwards.
inline bool is_outlet(const Boundary& boundary) {
  return boundary.kind == BoundaryKind::pressure || boundary.kind == BoundaryKind::convective;
}
/// The convective side, or -1 if there is none.
int convective_side(const Options& options);

/// Counts the links between two fluid cells through each of `bodies` bodies. A link counts at one of its ends, if that
/// is in the block.
std::vector<std::int64_t> count_through(const Grid& grid, const Options& options, const Surroundings& surroundings,
                                        std::size_t bodies);

/// Makes the links of a block. `known`: bits of sides with resting walls that the step handles itself. Cells without
/// other links then have none, except for loads.
Links make_links(const Grid& grid, const Block& block, const Options& options, const Surroundings& surroundings,
                 unsigned known = 0);

inline std::int64_t index_in(const Box& box, const Extent& p) {
  return ((p[2] - box.lo[2]) * box.extent(1) + (p[1] - box.lo[1])) * box.extent(0) + (p[0] - box.lo[0]);
}
template <class F>
void for_each_cell(const Box& box, F f) {
  for (std::int64_t z = box.lo[2]; z < box.hi[2]; ++z)
    for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y)
      for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x) f(Extent{x, y, z});
}
/// Widths of the layers of a box that lie outside of the domain, behind sides that are not periodic.
Margins beyond_sides(const Grid& grid, const Box& box);

}  // namespace slipstream::lbm

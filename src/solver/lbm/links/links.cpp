// Builds the links of a block from the flags, bodies and cuts around its cells.
#include "solver/lbm/links/links.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "device/work_items.hpp"
#include "solver/lbm/lattice/fields.hpp"
#include "solver/lbm/links/neighbours.hpp"
#include "solver/lbm/storage/places.hpp"

namespace slipstream::lbm {
namespace {

/// Makes the links of one plane of a block's cells, ordered by cell, then by population.
template <class L>
class Maker {
 public:
  Maker(const Grid& grid, const Block& block, const Options& options, const Surroundings& s, unsigned known)
      : grid_(grid), block_(block), options_(options), s_(s), known_(known), neighbours_(grid, block, s) {}

  Links links(std::int64_t z) {
    const Box& box = block_.box;
    std::vector<std::uint8_t> marks(box.extent(0));
    for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y) {
      neighbours_.mark_others(y, z, marks);
      mark_seams(y, z, marks);
      for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x)
        if (marks[x - box.lo[0]] != 0) at_cell({x, y, z});
    }
    return std::move(links_);
  }

 private:
  /// Marks cells next to a periodic seam with a pressure drop, because they have links, too.
  void mark_seams(std::int64_t y, std::int64_t z, std::vector<std::uint8_t>& marks) const {
    const Extent at{0, y, z};
    for (int a = 1; a < 3; ++a)
      if (options_.density_drop[a] != 0 && (at[a] == 0 || at[a] == grid_.extent()[a] - 1))
        std::fill(marks.begin(), marks.end(), std::uint8_t{1});
    if (options_.density_drop[0] == 0) return;
    if (block_.box.lo[0] == 0) marks.front() = 1;
    if (block_.box.hi[0] == grid_.extent()[0]) marks.back() = 1;
  }

  static Extent behind(const Extent& x, int i) {
    return {x[0] - L::velocity[i][0], x[1] - L::velocity[i][1], x[2] - L::velocity[i][2]};
  }

  Extent wrapped(const Extent& p) const { return neighbours_.wrapped(p); }
  std::uint8_t flag(const Extent& p) const { return neighbours_.flag(p); }

  Cell local(const Extent& p) const {
    const auto part = [&](int a) { return static_cast<std::int32_t>(p[a] - block_.box.lo[a]); };
    return {part(0), part(1), part(2)};
  }

  /// Whether the exchange brings values to a cell.
  bool brought(const Extent& p) const {
    return side_behind(grid_, options_, p) < 0 && !block_.box.contains(wrapped(p));
  }
  LinkLists& lists(bool wait) { return wait ? links_.exchanged : links_.local; }

  void at_cell(const Extent& x) {
    if (flag(x) != fluid) return;
    known_alone_ = known_ != 0 && has_known_alone(x);
    InterpolatedCell beside{local(x)};
    beside.first = static_cast<std::uint32_t>(links_.shares.size());
    for (int i = 1; i < L::q; ++i) {
      const std::uint8_t there = flag(behind(x, i));
      if (there == fluid) {
        across_seam(x, i);
      } else if (there == solid) {
        at_body(x, i, beside);
      } else {
        at_side(x, i, there - 1);
      }
    }
    // All links of a cell go into one list, so that the order of its mass sum does not depend on blocks.
    if (beside.in != 0) lists(near_brought(x)).interpolated.push_back(beside);
  }

  /// Whether the exchange brings values to a neighbour of a cell.
  bool near_brought(const Extent& x) const {
    for (int i = 1; i < L::q; ++i)
      if (brought(behind(x, i))) return true;
    return false;
  }

  /// Whether all links of a cell end at resting walls that the step handles without links.
  bool has_known_alone(const Extent& x) const {
    for (int i = 1; i < L::q; ++i) {
      const std::uint8_t there = flag(behind(x, i));
      if (there == fluid ? seam_term(x, i) != 0 : there == solid || (known_ >> (there - 1) & 1u) == 0) return false;
    }
    return true;
  }

  /// Correction of a population that enters x across a pressure drop. At fixed momentum its equilibrium w (rho + 3 c.j
  /// + (9/2 (c.j)^2 - 3/2 j^2) / rho) changes by w times the drop, up to terms of order drop times u^2. The mass that
  /// enters at one end leaves at the other, exactly.
  double seam_term(const Extent& x, int i) const {
    const Extent from = behind(x, i);
    double drop = 0;
    for (int a = 0; a < 3; ++a)
      drop += from[a] < 0 ? options_.density_drop[a] : from[a] >= grid_.extent()[a] ? -options_.density_drop[a] : 0;
    return L::weight(i) * drop;
  }

  void across_seam(const Extent& x, int i) {
    if (const double term = seam_term(x, i); term != 0)
      links_.exchanged.added.push_back({local(x), heading_of<L>(i), term});
  }

  void at_side(const Extent& x, int i, int side) {
    const auto found = options_.boundaries.find(static_cast<Side>(side));
    if (found == options_.boundaries.end()) {
      half_way(x, i, velocity_of_wall(x, i, side));
      links_.loads[side].push_back({local(x), heading_of<L>(i), 0.5});
      return;
    }
    const Boundary& boundary = found->second;
    switch (boundary.kind) {
      case BoundaryKind::velocity:
        return half_way(x, i, velocity_at(boundary, side, x, i));
      case BoundaryKind::pressure:
      case BoundaryKind::convective:
      case BoundaryKind::slip:
        return copy(x, i, boundary);
    }
  }

  /// Where walls meet, only the velocity along all of them counts: a wall that moves into another one would create or
  /// remove mass.
  std::array<double, 3> velocity_of_wall(const Extent& x, int i, int side) const {
    std::array<double, 3> u = wall_velocity(options_, side);
    const Extent from = behind(x, i);
    for (int a = 0; a < 3; ++a) {
      if (a == side / 2 || grid_.periodic()[a] || (from[a] >= 0 && from[a] < grid_.extent()[a])) continue;
      if (is_wall(options_, 2 * a + (from[a] < 0 ? 0 : 1))) u[a] = 0;
    }
    return u;
  }

  void half_way(const Extent& x, int i, const std::array<double, 3>& u) {
    if (known_alone_) return;
    Link link{local(x), heading_of<L>(i), 0};
    for (int a = 0; a < 3; ++a) link.term += 6 * L::weight(i) * L::velocity[i][a] * u[a];
    LinkLists& to = lists(brought(behind(x, i)));
    (link.term == 0 ? to.resting : to.half_way).push_back(link);
  }

  /// Velocity of a side at the point where a link crosses it, half-way between two cells.
  std::array<double, 3> velocity_at(const Boundary& boundary, int side, const Extent& x, int i) const {
    if (boundary.profile.empty()) return boundary.velocity;
    const int fast = side / 2 == 0 ? 1 : 0, slow = side / 2 == 2 ? 1 : 2;
    const auto half_cells = [&](int a) { return 2 * x[a] + 1 - L::velocity[i][a]; };
    return boundary.profile.at(half_cells(slow) * (2 * grid_.extent()[fast] + 1) + half_cells(fast));
  }

  /// Adds a link that copies. Slip copies the population of a neighbour, reflected at the side. Pressure copies the
  /// population from beyond the side, for an extrapolated state with the given density. Convective does the same with
  /// delay. At edges two sides apply, each on its axis.
  void copy(const Extent& x, int i, const Boundary& boundary) {
    const Extent from = behind(x, i);
    Extent other = from;
    Direction c{L::velocity[i][0], L::velocity[i][1], L::velocity[i][2]};
    for (int a = 0; a < 3; ++a) {
      if (grid_.periodic()[a] || (from[a] >= 0 && from[a] < grid_.extent()[a])) continue;
      other[a] = x[a];
      const auto side = static_cast<Side>(2 * a + (from[a] < 0 ? 0 : 1));
      if (options_.boundaries.at(side).kind == BoundaryKind::slip) c[a] = -c[a];
    }
    // If a body meets the side, the neighbour that slip would copy from may be solid.
    if (flag(other) != fluid) return half_way(x, i, {0, 0, 0});
    LinkLists& to = lists(brought(other));
    const Heading sent = heading_of<L>(index_of<L>(c[0], c[1], c[2]));
    if (boundary.kind == BoundaryKind::convective) {
      const double share = boundary.speed / (1 + boundary.speed);
      to.convective.push_back({local(x), heading_of<L>(i), local(wrapped(other)), sent, share});
      if (boundary.relaxation > 0) in_cell(to.held, x, i, boundary.density - 1).rate = hold_rate(boundary);
      return;
    }
    to.copied.push_back({local(x), heading_of<L>(i), local(wrapped(other)), sent, seam_term(x, i)});
    if (boundary.kind == BoundaryKind::pressure) in_cell(to.pressure, x, i, boundary.density - 1);
  }

  /// Returns the rate (K / 2) (1 + 3 c_s) at which a convective side restores its density. K is the relaxation factor
  /// times c_s / L, with the speed of sound c_s and the domain's length L. A step adds rate times weight times missing
  /// density to each incoming population.
  double hold_rate(const Boundary& boundary) const {
    const double sound = std::sqrt(1.0 / 3),
                 length = static_cast<double>(grid_.extent()[convective_side(options_) / 2]);
    return 0.5 * boundary.relaxation * sound / length * (1 + 3 * sound);
  }

  /// Finds or makes the entry of a cell in a list, and marks population i in it.
  template <class Item>
  Item& in_cell(std::vector<Item>& cells, const Extent& x, int i, double excess) {
    const Cell cell = local(x);
    const auto same = [&](const Item& p) {
      return std::tie(p.cell.x, p.cell.y, p.cell.z, p.excess) == std::tie(cell.x, cell.y, cell.z, excess);
    };
    // A list of boundary cells is filled cell by cell, so a cell's entries are its last: at most three, one per side.
    const auto last = cells.end() - std::min<std::ptrdiff_t>(3, cells.end() - cells.begin());
    auto found = std::find_if(last, cells.end(), same);
    if (found == cells.end()) found = cells.insert(cells.end(), {cell, 0, excess});
    found->in |= 1u << i;
    return *found;
  }

  /// Adds an interpolated link: Bouzidi, Firdaouss & Lallemand 2001, linear. A body returns own - w (own - second): the
  /// cell sends `own` to it, and the last term, with weight w, is the mass that the link loses. If the wall is beyond
  /// the link's middle, the cell sends `second` away from the body. If it is nearer, the next cell away from the body
  /// sends `second` to this cell; without such a cell the wall counts as half-way.
  void at_body(const Extent& x, int i, InterpolatedCell& beside) {
    const int out = opposite_of(i);
    const int body = s_.bodies[index_in(s_.around, wrapped(behind(x, i)))] - 1;
    const double q = !s_.half_way.empty() && s_.half_way[body] ? 0.5 : cut_along(x, out);
    links_.loads[first_body + body].push_back({local(x), heading_of<L>(i), q});
    const bool alone = flag(behind(x, out)) != fluid;
    if (q == 0.5 || (q < 0.5 && alone)) return half_way(x, i, {0, 0, 0});
    beside.in |= 1u << i;
    if (q < 0.5) beside.near |= 1u << i;
    links_.shares.push_back(1 - (q < 0.5 ? 2 * q : 1 / (2 * q)));
  }

  /// Fraction of the link along velocity `out` before the body's surface; 1/2 if no cut is known.
  double cut_along(const Extent& x, int out) const {
    const auto key = [](const auto& c) { return std::tie(c.cell[2], c.cell[1], c.cell[0], c.direction); };
    Cut wanted;
    for (int a = 0; a < 3; ++a) wanted.cell[a] = static_cast<std::int32_t>(x[a]);
    wanted.direction = static_cast<std::uint16_t>(out - 1);
    const auto found = std::lower_bound(s_.cuts.begin(), s_.cuts.end(), wanted,
                                        [&](const Cut& a, const Cut& b) { return key(a) < key(b); });
    return found != s_.cuts.end() && key(*found) == key(wanted) ? found->q : 0.5;
  }

  const Grid& grid_;
  const Block& block_;
  const Options& options_;
  const Surroundings& s_;
  const unsigned known_;
  Neighbours neighbours_;
  bool known_alone_ = false;  // whether all links of the current cell end at resting walls that the step handles itself
  Links links_;
};

template <class Item>
void append(std::vector<Item>& to, const std::vector<Item>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

void append(LinkLists& to, const LinkLists& more) {
  append(to.resting, more.resting);
  each_kind(to, more, [](auto& all, const auto& others) { append(all, others); });
}

/// Sorts links by population, then by cell: the order of memory in soa, so adjacent threads access adjacent values.
template <class Item>
void sort_by_population(std::vector<Item>& items, Layout layout) {
  if (row_axis(layout) == 2) {
    const auto place = [](const Item& item) { return std::tuple(item.in.i, item.cell.x, item.cell.y, item.cell.z); };
    std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return place(a) < place(b); });
    return;
  }
  std::array<std::size_t, 28> first{};
  for (const Item& item : items) ++first[item.in.i + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Item> sorted(items.size());
  for (const Item& item : items) sorted[first[item.in.i]++] = item;
  items = std::move(sorted);
}

/// Sorts cells in the order of memory for rows along z.
void sort_along_z(std::vector<InterpolatedCell>& cells) {
  const auto place = [](const InterpolatedCell& c) { return std::tie(c.cell.x, c.cell.y, c.cell.z); };
  std::sort(cells.begin(), cells.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

}  // namespace

Neighbours::Neighbours(const Grid& grid, const Block& block, const Surroundings& s) : s_(s), box_(block.box) {
  for (int a = 0; a < 3; ++a)
    if (s.around.extent(a) == box_.extent(a) && grid.periodic()[a]) period_[a] = grid.extent()[a];
}

void Neighbours::mark_others(std::int64_t y, std::int64_t z, std::vector<std::uint8_t>& out) const {
  const std::int64_t n = box_.extent(0);
  // Two-dimensional blocks have no planes above and below.
  const bool planes = period_[2] != 0 || s_.around.extent(2) > box_.extent(2);
  std::vector<std::uint8_t> near(n + 2);  // near[x]: nonzero if a cell at x - 1 in this or an adjacent row isn't fluid
  const Extent ends[2] = {wrapped({box_.lo[0] - 1, y, z}), wrapped({box_.hi[0], y, z})};
  const bool beyond = period_[0] != 0 || s_.around.extent(0) > n;
  for (std::int64_t dz = planes ? -1 : 0; dz <= (planes ? 1 : 0); ++dz)
    for (std::int64_t dy = -1; dy <= 1; ++dy) {
      const Extent start = wrapped({box_.lo[0], y + dy, z + dz});
      const std::uint8_t* const row = s_.flags.data() + index_in(s_.around, start);
      for (std::int64_t x = 0; x < n; ++x) near[x + 1] |= row[x];
      if (!beyond) continue;
      near[0] |= row[ends[0][0] - start[0]];
      near[n + 1] |= row[ends[1][0] - start[0]];
    }
  for (std::int64_t x = 0; x < n; ++x) out[x] = near[x] | near[x + 1] | near[x + 2];
}

Links make_links(const Grid& grid, const Block& block, const Options& options, const Surroundings& surroundings,
                 unsigned known) {
  std::vector<Links> planes(block.box.extent(2));
  with_lattice(options.lattice, [&]<class L>(L) {
    const auto plane = [&](std::int64_t z) {
      planes[z] = Maker<L>(grid, block, options, surroundings, known).links(block.box.lo[2] + z);
    };
    for_each_item(block.box.extent(2), plane, block.box.extent(0) * block.box.extent(1));
  });
  Links all;
  for (Links& plane : planes) {
    for (LinkLists* lists : {&plane.local, &plane.exchanged})
      for (InterpolatedCell& beside : lists->interpolated)
        beside.first += static_cast<std::uint32_t>(all.shares.size());
    append(all.shares, plane.shares);
    append(all.local, plane.local);
    append(all.exchanged, plane.exchanged);
    for (const auto& [bearer, loads] : plane.loads) append(all.loads[bearer], loads);
  }
  const Layout layout = layout_of(grid, options);
  if (layout != Layout::aos)
    for (LinkLists* lists : {&all.local, &all.exchanged}) {
      sort_by_population(lists->added, layout);
      sort_by_population(lists->half_way, layout);
      sort_by_population(lists->resting, layout);
      sort_by_population(lists->copied, layout);
      sort_by_population(lists->convective, layout);
      if (row_axis(layout) == 2) sort_along_z(lists->interpolated);
    }
  return all;
}

}  // namespace slipstream::lbm

#include "solver/lbm/links/boundary_cells.hpp"

#include <algorithm>
#include <tuple>

#include "device/upload.hpp"
#include "device/work_items.hpp"
#include "solver/lbm/lattice/fields.hpp"
#include "solver/lbm/lattice/lattice.hpp"
#include "solver/lbm/links/neighbours.hpp"

namespace slipstream::lbm {
namespace {

Extent place_of(const Cell& c) { return {c.x, c.y, c.z}; }

/// Returns the boundary cells of all links, sorted by z, y, x without repeats, with the populations that come back from
/// resting walls. Cells to which links bring other populations get an index into BoundaryArrays::arrivals.
std::vector<BoundaryCell> cells_of(Links& links) {
  std::vector<BoundaryCell> all;
  for (const LinkLists* lists : {&links.local, &links.exchanged})
    for (const Link& link : lists->resting) all.push_back({link.cell, 1u << link.in.i});
  each_kind(links.local, links.exchanged, [&](const auto& local, const auto& exchanged) {
    for (const auto* list : {&local, &exchanged})
      for (const auto& link : *list) all.push_back({link.cell, 0, 0});
  });
  const auto key = [](const BoundaryCell& c) { return std::tie(c.cell.z, c.cell.y, c.cell.x); };
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<BoundaryCell> merged;
  std::int32_t arriving = 0;
  for (const BoundaryCell& c : all) {
    if (merged.empty() || key(merged.back()) != key(c)) merged.push_back({c.cell});
    merged.back().resting |= c.resting;
    if (c.arrivals >= 0 && merged.back().arrivals < 0) merged.back().arrivals = arriving++;
  }
  return merged;
}

bool waits(const Cell& cell, const Box& cells, const Margins& waiting) {
  const Extent p = place_of(cell);
  for (int a = 0; a < 3; ++a)
    if ((waiting.low[a] > 0 && p[a] == 0) || (waiting.high[a] > 0 && p[a] == cells.extent(a) - 1)) return true;
  return false;
}

}  // namespace

std::int64_t boundary_cell_bytes(DType precision, bool brought) {
  constexpr auto number = static_cast<std::int64_t>(sizeof(std::uint32_t));
  const auto arriving = D3Q19::q * static_cast<std::int64_t>(size_of(arithmetic(precision)));
  return static_cast<std::int64_t>(sizeof(BoundaryCell)) + number + (brought ? number + arriving : 0);
}

std::int64_t boundary_bytes(const Grid& grid, const Block& block, const Options& o, std::int64_t near_bodies,
                            bool cut) {
  std::int64_t bytes = near_bodies * boundary_cell_bytes(o.precision, cut);
  for (int side = 0; side < 2 * grid.dimensions(); ++side) {
    const int a = side / 2;
    if (!lies_along(grid, block.box, side)) continue;
    if (grid.periodic()[a] && o.density_drop[a] == 0) continue;
    bytes += block.box.volume() / block.box.extent(a) *
             boundary_cell_bytes(o.precision, !is_resting_wall(o, side) || grid.periodic()[a]);
  }
  const Extent n = block.box.extents(), g = ghost_layers(grid, o);
  const std::int64_t words = (n[0] + 2 * g[0] + 31) / 32 * (n[1] + 2 * g[1]) * (n[2] + 2 * g[2]);
  return bytes > 0 ? bytes + words * static_cast<std::int64_t>(sizeof(CellWord)) : 0;
}

std::int64_t body_link_bytes(const NearBodies& beside, Representation representation, bool interpolated) {
  // Half-way links need no memory in the moment representation, because bits of the boundary cell mark them.
  const std::size_t link = interpolated                                ? sizeof(double)
                           : representation == Representation::moments ? 0
                                                                       : sizeof(Bounce);
  return beside.links * static_cast<std::int64_t>(sizeof(LoadLink) + link) +
         (interpolated ? beside.cells * static_cast<std::int64_t>(sizeof(InterpolatedCell)) : 0);
}

NearBodies count_near_bodies(const Grid& grid, const Block& block, const Options& options, const Surroundings& s) {
  const Box& box = block.box;
  const Neighbours neighbours(grid, block, s);
  std::vector<NearBodies> planes(box.extent(2));
  with_lattice(options.lattice, [&]<class L>(L) {
    const auto plane = [&](std::int64_t k) {
      std::vector<std::uint8_t> marks(box.extent(0));
      for (std::int64_t y = box.lo[1], z = box.lo[2] + k; y < box.hi[1]; ++y) {
        neighbours.mark_others(y, z, marks);
        for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x) {
          if (marks[x - box.lo[0]] == 0 || neighbours.flag({x, y, z}) != fluid) continue;
          const auto meets = [&](const auto& c) { return neighbours.flag({x - c[0], y - c[1], z - c[2]}) == solid; };
          const auto links = std::count_if(std::begin(L::velocity), std::end(L::velocity), meets);
          planes[k].links += links;
          planes[k].cells += links > 0;
        }
      }
    };
    for_each_item(box.extent(2), plane, box.extent(0) * box.extent(1));
  });
  NearBodies all;
  for (const NearBodies& plane : planes) {
    all.links += plane.links;
    all.cells += plane.cells;
  }
  return all;
}

BoundaryCells::BoundaryCells(Stream& stream, const Box& cells, const Extent& ghost, const Margins& waiting,
                             std::size_t number, Links& links)
    : cells_(cells_of(links)) {
  links.local.resting.clear();
  links.exchanged.resting.clear();
  if (cells_.empty()) return;
  each_kind(links.local, links.exchanged, [&](auto& local, auto& exchanged) {
    local.insert(local.end(), exchanged.begin(), exchanged.end());
    const auto later = std::stable_partition(local.begin(), local.end(),
                                             [&](const auto& link) { return !waits(link.cell, cells, waiting); });
    exchanged.assign(later, local.end());
    local.erase(later, local.end());
  });
  std::vector<std::uint32_t> at_once, later;
  for (std::uint32_t n = 0; n < cells_.size(); ++n) {
    if (cells_[n].arrivals < 0) continue;
    (waits(cells_[n].cell, cells, waiting) ? later : at_once).push_back(n);
    ++arriving_;
  }
  local_ = at_once.size();
  at_once.insert(at_once.end(), later.begin(), later.end());
  brought_ = upload(stream, at_once);
  on_device_ = upload(stream, cells_);
  arrivals_ = Buffer<std::byte>(stream.device(), D3Q19::q * static_cast<std::size_t>(arriving_) * number);
  number_words(stream, cells, ghost);
}

void BoundaryCells::number_words(Stream& stream, const Box& cells, const Extent& ghost) {
  const auto whole = [&](int a) { return static_cast<std::int32_t>(cells.extent(a) + 2 * ghost[a]); };
  for (int a = 0; a < 3; ++a) numbering_.ghost[a] = static_cast<std::int32_t>(ghost[a]);
  numbering_.row = (whole(0) + 31) / 32;
  numbering_.plane = numbering_.row * whole(1);
  std::vector<CellWord> words(static_cast<std::size_t>(numbering_.plane) * whole(2));
  for (const BoundaryCell& c : cells_) {
    const std::int32_t along = c.cell.x + numbering_.ghost[0];
    const std::size_t word = static_cast<std::size_t>(c.cell.z + numbering_.ghost[2]) * numbering_.plane +
                             (c.cell.y + numbering_.ghost[1]) * numbering_.row + along / 32;
    words[word].stored |= 1u << along % 32;
  }
  count_stored(words);
  words_ = upload(stream, words);
  numbering_.words = words_.data();
}

void BoundaryCells::split(Stream& stream, const Box& interior) {
  if (empty()) return;
  std::vector<std::uint32_t> all(cells_.size());
  for (std::uint32_t n = 0; n < all.size(); ++n) all[n] = n;
  const auto boundary = std::stable_partition(
      all.begin(), all.end(), [&](std::uint32_t n) { return interior.contains(place_of(cells_[n].cell)); });
  interior_ = static_cast<std::size_t>(boundary - all.begin());
  stepped_ = upload(stream, all);
}

std::int64_t BoundaryCells::bytes() const {
  return static_cast<std::int64_t>(on_device_.bytes() + words_.bytes() + arrivals_.bytes() + brought_.bytes() +
                                   stepped_.bytes());
}

BoundaryArrays BoundaryCells::arrays() const {
  if (empty()) return {};
  return {on_device_.data(), numbering_, const_cast<std::byte*>(arrivals_.data()), arriving_, {}};
}

std::span<const std::uint32_t> BoundaryCells::brought_to(bool exchanged) const {
  const std::span all(brought_.data(), brought_.size());
  return exchanged ? all.subspan(local_) : all.first(local_);
}

std::span<const std::uint32_t> BoundaryCells::stepped(bool interior, bool boundary) const {
  const std::span all(stepped_.data(), stepped_.size());
  return interior && boundary ? all : interior ? all.first(interior_) : all.subspan(interior_);
}

}  // namespace slipstream::lbm

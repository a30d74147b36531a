#include "solver/lbm/step/in_place_halo.hpp"

#include <algorithm>

#include "solver/lbm/lattice/fields.hpp"
#include "solver/lbm/links/links.hpp"

namespace slipstream::lbm {
namespace {

/// Clips a box of ghost cells to those whose population of direction `c` a step of the block may read. It moves into
/// the block, or beyond an adjacent side of the domain. `outlets` marks sides whose outlet condition reads populations
/// that moved inwards. In a block one cell thick at an outlet, such a population crosses the block and leaves it at the
/// opposite face. Axes without ghost cells are periodic within the block.
Box read_by(const Grid& grid, const Block& block, const std::vector<bool>& outlets, const Extent& ghost, Box box,
            const Direction& c) {
  for (int a = 0; a < 3; ++a) {
    if (ghost[a] == 0) continue;
    const bool low = !grid.periodic()[a] && block.box.lo[a] == 0;
    const bool high = !grid.periodic()[a] && block.box.hi[a] == grid.extent()[a];
    const bool thin = block.box.extent(a) == 1;
    const bool below = low || (thin && high && outlets[2 * a + 1]), above = high || (thin && low && outlets[2 * a]);
    box.lo[a] = std::max<std::int64_t>(box.lo[a], (below ? -1 : 0) - c[a]);
    box.hi[a] = std::min<std::int64_t>(box.hi[a], block.box.extent(a) + (above ? 1 : 0) - c[a]);
  }
  return box;
}

struct Ends {
  Box source, target;
};

/// Moves the source and target boxes of a transfer by one lattice velocity, and cuts them where they wrap. They
/// wrap on axes without ghosts, on which both blocks span the domain and have the same coordinates.
std::vector<Ends> moved(const Grid& grid, const Extent& ghost, const Ends& ends, const Direction& c) {
  std::vector<Ends> pieces{{shifted(ends.source, {c[0], c[1], c[2]}), shifted(ends.target, {c[0], c[1], c[2]})}};
  for (int a = 0; a < 3; ++a) {
    if (ghost[a] != 0 || c[a] == 0) continue;
    const std::int64_t n = grid.extent()[a];
    std::vector<Ends> cut;
    for (const Ends& piece : pieces)
      for (const std::int64_t period : {-n, std::int64_t{0}, n}) {
        Ends part = piece;
        part.target.lo[a] = part.source.lo[a] = std::max<std::int64_t>(0, piece.target.lo[a] + period);
        part.target.hi[a] = part.source.hi[a] = std::min(n, piece.target.hi[a] + period);
        if (!part.target.empty()) cut.push_back(part);
      }
    pieces = std::move(cut);
  }
  return pieces;
}

}  // namespace

InPlaceHalo::InPlaceHalo(const Grid& grid, const Options& options, Form form)
    : halo_(population_halo(grid, options)), outlets_(6, false), form_(form) {
  for (const auto& [side, boundary] : options.boundaries) outlets_[static_cast<int>(side)] = is_outlet(boundary);
  with_lattice(options.lattice, [&]<class L>(L) {
    for (const auto& c : L::velocity) velocities_.push_back({c[0], c[1], c[2]});
  });
}

std::vector<Transfer> InPlaceHalo::transfers(const Grid& grid, int components, const Extent& ghost, int rank) const {
  std::vector<Transfer> found;
  for (const Transfer& crossing : halo_.transfers(grid, components, ghost, rank)) {
    const std::size_t first = found.size();
    for (const int population : crossing.target.components) add(grid, ghost, crossing, population, found, first);
  }
  return found;
}

void InPlaceHalo::add(const Grid& grid, const Extent& ghost, const Transfer& crossing, int population,
                      std::vector<Transfer>& found, std::size_t first) const {
  const Direction& c = velocities_[population];
  Ends left{{}, read_by(grid, grid.block(crossing.target_block), outlets_, ghost, crossing.target.box, c)};
  if (left.target.empty()) return;
  Extent between{};
  for (int a = 0; a < 3; ++a) between[a] = crossing.source.box.lo[a] - crossing.target.box.lo[a];
  left.source = shifted(left.target, between);
  const bool odd = population % 2 == 1;
  const int component = form_ == Form::turned ? (odd ? population + 1 : population - 1) : population;
  for (const Ends& ends : odd ? moved(grid, ghost, left, c) : std::vector<Ends>{left}) {
    const auto same = std::find_if(found.begin() + static_cast<std::ptrdiff_t>(first), found.end(),
                                   [&](const Transfer& t) { return t.source.box == ends.source; });
    if (same != found.end()) {
      same->source.components.push_back(component);
      same->target.components.push_back(component);
      continue;
    }
    Transfer t;
    t.source_block = crossing.source_block;
    t.target_block = crossing.target_block;
    t.source = {ends.source, {component}, nullptr};
    t.target = {ends.target, {component}, nullptr};
    found.push_back(std::move(t));
  }
}

}  // namespace slipstream::lbm

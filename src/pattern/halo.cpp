#include <algorithm>
#include <numeric>

#include <slipstream/error.hpp>
#include <slipstream/pattern.hpp>

#include "machine/hash.hpp"

namespace slipstream {
namespace {

/// The ghost cells of a block in direction d, in global coordinates that may be outside the grid.
Box ghost_region(const Box& block, const Direction& d, const Extent& low, const Extent& high) {
  Box region = block;
  for (int a = 0; a < 3; ++a) {
    if (d[a] < 0) {
      region.lo[a] = block.lo[a] - low[a];
      region.hi[a] = block.lo[a];
    } else if (d[a] > 0) {
      region.lo[a] = block.hi[a];
      region.hi[a] = block.hi[a] + high[a];
    }
  }
  return region;
}

/// Shifts by whole periods of the grid that move some part of a region into the grid.
std::vector<Extent> images(const Box& region, const Grid& grid) {
  std::vector<Extent> shifts{{0, 0, 0}};
  for (int a = 0; a < 3; ++a) {
    if (!grid.periodic()[a]) continue;
    const std::size_t count = shifts.size();
    for (const int sign : {-1, 1}) {
      const bool leaves = sign > 0 ? region.lo[a] < 0 : region.hi[a] > grid.extent()[a];
      for (std::size_t i = 0; leaves && i < count; ++i) {
        Extent shift = shifts[i];
        shift[a] += sign * grid.extent()[a];
        shifts.push_back(shift);
      }
    }
  }
  return shifts;
}

void check(const Grid& grid, const Extent& ghost, const Halo::Options& options) {
  for (int a = 0; a < grid.dimensions(); ++a) {
    const std::int64_t width = std::max(options.low[a], options.high[a]);
    require(width <= ghost[a], ErrorCode::unsupported,
            "a halo of width " + std::to_string(width) + " does not fit into the field's " + std::to_string(ghost[a]) +
                " ghost layers on axis " + std::string(1, "xyz"[a]),
            {{"option", "width"}, {"given", width}, {"limit", ghost[a]}, {"axis", std::string(1, "xyz"[a])}});
    if (grid.periodic()[a])
      require(width <= grid.extent()[a], ErrorCode::unsupported,
              "a periodic halo of width " + std::to_string(width) + " is wider than the grid's " +
                  std::to_string(grid.extent()[a]) + " cells on axis " + std::string(1, "xyz"[a]),
              {{"option", "width"}, {"given", width}, {"limit", grid.extent()[a]}, {"axis", std::string(1, "xyz"[a])}});
  }
}

Box in_block(const Box& global, const Block& block) {
  return shifted(global, {-block.box.lo[0], -block.box.lo[1], -block.box.lo[2]});
}

/// Numbers of blocks, ascending, that may read cells of the rank's blocks or belong to it. A few others may be
/// included.
std::vector<std::int64_t> targets(const Grid& grid, const Halo::Options& options, int rank) {
  std::vector<std::int64_t> found = grid.blocks_of(rank);
  Extent reach{};
  for (int a = 0; a < 3; ++a) reach[a] = grid.periodic()[a] ? 1 : 0;
  for (const std::int64_t id : grid.blocks_of(rank)) {
    Box readers = grid.block(id).box;
    for (int a = 0; a < 3; ++a) {
      readers.lo[a] -= options.high[a];
      readers.hi[a] += options.low[a];
    }
    for (std::int64_t z = -reach[2]; z <= reach[2]; ++z)
      for (std::int64_t y = -reach[1]; y <= reach[1]; ++y)
        for (std::int64_t x = -reach[0]; x <= reach[0]; ++x) {
          const Extent& e = grid.extent();
          const auto near = grid.overlapping(shifted(readers, {x * e[0], y * e[1], z * e[2]}));
          found.insert(found.end(), near.begin(), near.end());
        }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

std::uint64_t Halo::fingerprint() const {
  Hash hash;
  hash.add(options_.reach, options_.low, options_.high);
  if (!options_.components) return hash.value();
  for (const Direction& d : directions(Reach::all)) {
    const std::vector<int> read = options_.components(d);
    hash.add(read, read.size());
  }
  return hash.value();
}

// Transfers are sorted, so that their order is the same on all ranks: target block, direction, image, source block.
std::vector<Transfer> Halo::transfers(const Grid& grid, int components, const Extent& ghost, int rank) const {
  check(grid, ghost, options_);
  std::vector<int> all(components);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::pair<Direction, std::vector<int>>> wanted;
  for (const Direction& d : directions(options_.reach, grid.dimensions()))
    if (auto some = options_.components ? options_.components(d) : all; !some.empty())
      wanted.emplace_back(d, std::move(some));

  const std::vector<std::int64_t>& local = grid.blocks_of(rank);
  constexpr std::size_t few = 8;  // up to so many blocks, testing each for overlap is faster than the spatial index
  std::vector<Transfer> found;
  for (const std::int64_t id : targets(grid, options_, rank)) {
    const Block& target = grid.block(id);
    const bool only_local = target.rank != rank && local.size() <= few;
    for (const auto& [d, components_read] : wanted) {
      const Box region = ghost_region(target.box, d, options_.low, options_.high);
      if (region.empty()) continue;
      for (const Extent& shift : images(region, grid)) {
        const Box source_cells = shifted(region, shift);
        for (const std::int64_t source_id : only_local ? local : grid.overlapping(source_cells)) {
          const Block& source = grid.block(source_id);
          if (source.rank != rank && target.rank != rank) continue;
          const Box part = intersection(source_cells, source.box);
          if (part.empty()) continue;
          const Box there = shifted(part, {-shift[0], -shift[1], -shift[2]});
          Transfer t;
          t.source_block = source.id;
          t.target_block = target.id;
          t.source = {in_block(part, source), components_read, nullptr};
          t.target = {in_block(there, target), components_read, nullptr};
          found.push_back(std::move(t));
        }
      }
    }
  }
  return found;
}

HaloAdjoint::HaloAdjoint(Halo::Options options, Op op) : halo_(std::move(options)), op_(op) {
  require(op != Op::copy, ErrorCode::unsupported,
          "the adjoint of a halo combines values: several ghost cells may belong to one cell, so that "
          "there is nothing to copy; choose add, min, max or multiply",
          {{"option", "op"}});
}

std::uint64_t HaloAdjoint::fingerprint() const { return halo_.fingerprint() + static_cast<std::uint64_t>(op_); }

std::vector<Transfer> HaloAdjoint::transfers(const Grid& grid, int components, const Extent& ghost, int rank) const {
  std::vector<Transfer> found = halo_.transfers(grid, components, ghost, rank);
  for (Transfer& t : found) {
    std::swap(t.source_block, t.target_block);
    std::swap(t.source, t.target);
    t.op = op_;
  }
  return found;
}

}  // namespace slipstream

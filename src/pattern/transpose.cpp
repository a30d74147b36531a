#include <slipstream/transpose.hpp>

#include <algorithm>
#include <numeric>
#include <string>

#include <slipstream/error.hpp>

#include "machine/hash.hpp"

namespace slipstream {
namespace {

std::string words(const std::array<int, 3>& axes) {
  return "(" + std::to_string(axes[0]) + ", " + std::to_string(axes[1]) + ", " + std::to_string(axes[2]) + ")";
}

void check_axes(const Grid& source, const Grid& target, const std::array<int, 3>& axes) {
  std::array<int, 3> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  require(sorted == std::array<int, 3>{0, 1, 2},
          "the axes " + words(axes) + " of a transpose are no permutation: name each of 0, 1 and 2 once",
          {{"option", "axes"}, {"given", words(axes)}});
  for (std::size_t a = 0; a < 3; ++a)
    require(target.extent()[axes[a]] == source.extent()[a], ErrorCode::mismatch,
            "axis " + std::to_string(a) + " of a transpose's source has " + std::to_string(source.extent()[a]) +
                " cells, and axis " + std::to_string(axes[a]) + " of its target, where it goes, has " +
                std::to_string(target.extent()[axes[a]]),
            {{"option", "axes"}, {"axis", a}, {"given", source.extent()[a]}, {"needed", target.extent()[axes[a]]}});
}

void check_range(const std::vector<Transpose::Range>& ranges, int axis, std::int64_t cells) {
  std::int64_t end = 0;
  for (const auto& [first, behind] : ranges) {
    require(first >= end && behind > first && behind <= cells,
            "a transpose must keep cells " + std::to_string(first) + " to " + std::to_string(behind - 1) + " of axis " +
                std::to_string(axis) + ", which has " + std::to_string(cells) +
                " cells: give ascending ranges within them that do not overlap",
            {{"option", "keep"}, {"axis", axis}, {"limit", cells}});
    end = behind;
  }
}

/// Axis a of the cells becomes axis axes[a].
Box turned(const Box& cells, const std::array<int, 3>& axes) {
  Box box;
  for (std::size_t a = 0; a < 3; ++a) {
    box.lo[axes[a]] = cells.lo[a];
    box.hi[axes[a]] = cells.hi[a];
  }
  return box;
}

Box within(const Box& box, const Block& block) {
  const Extent& lo = block.box.lo;
  return shifted(box, {-lo[0], -lo[1], -lo[2]});
}

}  // namespace

Transpose::Transpose(const Grid& source, const Grid& target, Options options)
    : target_(target), options_(std::move(options)) {
  check_axes(source, target, options_.axes);
  require(source.machine().devices() == target.machine().devices() && source.rank() == target.rank(),
          ErrorCode::mismatch, "the grids of a transpose lie on different machines", {{"problem", "machine"}});
  kept_.push_back(source.box());
  for (int a = 0; a < 3; ++a) {
    const auto& ranges = options_.kept[static_cast<std::size_t>(a)];
    check_range(ranges, a, source.extent()[a]);
    if (ranges.empty()) continue;
    std::vector<Box> cut;
    for (const Box& box : kept_)
      for (const auto& [first, behind] : ranges) {
        cut.push_back(box);
        cut.back().lo[a] = first;
        cut.back().hi[a] = behind;
      }
    kept_ = std::move(cut);
  }
}

std::array<int, 3> Transpose::inverse(const std::array<int, 3>& axes) {
  std::array<int, 3> back{};
  for (int a = 0; a < 3; ++a) back[static_cast<std::size_t>(axes[static_cast<std::size_t>(a)])] = a;
  return back;
}

std::uint64_t Transpose::fingerprint() const {
  Hash hash;
  hash.add(options_.axes, kept_);
  return hash.value();
}

/// Maps cells of the source to cells of the target, and back.
Box Transpose::there(const Box& cells) const { return turned(cells, options_.axes); }
Box Transpose::here(const Box& cells) const { return turned(cells, inverse(options_.axes)); }

void Transpose::add(const Block& from, const Block& to, const std::vector<int>& components,
                    std::vector<Transfer>& found) const {
  for (const Box& kept : kept_) {
    const Box cells = intersection(intersection(from.box, kept), here(to.box));
    if (cells.empty()) continue;
    Transfer t;
    t.source_block = from.id;
    t.target_block = to.id;
    t.source = {within(cells, from), components, nullptr};
    t.target = {within(there(cells), to), components, nullptr};
    t.axes = options_.axes;
    found.push_back(std::move(t));
  }
}

// Lists the transfers of a transpose, in the order of source block, target block, then range of kept cells.
std::vector<Transfer> Transpose::transfers(const Grid& grid, int components, const Extent&, int rank) const {
  std::vector<int> all(static_cast<std::size_t>(components));
  std::iota(all.begin(), all.end(), 0);
  std::vector<Transfer> found;
  for (const std::int64_t id : grid.blocks_of(rank))
    for (const std::int64_t to : target_.overlapping(there(grid.block(id).box)))
      add(grid.block(id), target_.block(to), all, found);
  for (const std::int64_t id : target_.blocks_of(rank))
    for (const std::int64_t from : grid.overlapping(here(target_.block(id).box)))
      if (grid.block(from).rank != rank) add(grid.block(from), target_.block(id), all, found);
  std::stable_sort(found.begin(), found.end(), [](const Transfer& a, const Transfer& b) {
    return std::pair(a.source_block, a.target_block) < std::pair(b.source_block, b.target_block);
  });
  return found;
}

}  // namespace slipstream

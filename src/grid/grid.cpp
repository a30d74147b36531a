#include <slipstream/error.hpp>
#include <slipstream/grid.hpp>

#include <algorithm>
#include <map>

#include "grid/box_index.hpp"
#include "grid/cell_text.hpp"
#include "grid/placement.hpp"

namespace slipstream {

Grid::Grid(Extent extent, const Machine& machine, int rank, GridOptions options)
    : extent_(extent), machine_(machine), rank_(rank), dimensions_(options.dimensions), periodic_(options.periodic) {
  require(dimensions_ == 3 || (dimensions_ == 2 && extent_[2] == 1), ErrorCode::unsupported,
          "a grid of " + to_string(extent_) + " cells was given " + std::to_string(dimensions_) +
              " dimensions: it has 3, or 2 where it has one cell along z",
          {{"option", "dimensions"}, {"given", dimensions_}});
  if (options.boxes.empty()) {
    cut_and_place(options);
  } else {
    take(options.boxes, options.covered);
  }
  by_rank_.resize(machine_.ranks());
  for (const Block& block : blocks_) by_rank_[block.rank].push_back(block.id);
}

const std::vector<std::int64_t>& Grid::blocks_of(int rank) const {
  static const std::vector<std::int64_t> none;
  return rank >= 0 && rank < static_cast<int>(by_rank_.size()) ? by_rank_[rank] : none;
}

void Grid::cut_and_place(const GridOptions& options) {
  // Nodes of different sizes cannot form a grid of nodes, so the domain is cut for all devices at once.
  const int nodes = machine_.uniform() ? machine_.nodes() : 1;
  partition_ = slipstream::partition(extent_, nodes, machine_.devices() / nodes, options.partition);
  const detail::Placement placement = detail::place(machine_, partition_, extent_, options);
  placement_cost_ = placement.cost;
  trivial_cost_ = placement.trivial_cost;
  const std::int64_t per_device = volume(partition_.blocks);
  for (const Box& box : partition_.boxes) {
    Block block;
    block.id = static_cast<std::int64_t>(blocks_.size());
    block.box = box;
    block.device = placement.devices[block.id / per_device];
    block.rank = machine_.device(block.device).rank;
    blocks_.push_back(block);
  }
  index();
}

void Grid::take(const std::vector<Block>& blocks, bool covered) {
  std::int64_t cells = 0;
  for (Block block : blocks) {
    block.id = static_cast<std::int64_t>(blocks_.size());
    if (block.device < 0 || block.device >= machine_.devices())
      throw Error(ErrorCode::invalid_argument,
                  "block " + std::to_string(block.id) + " was given to device " + std::to_string(block.device) +
                      ", but the machine has " + std::to_string(machine_.devices()),
                  {{"block", block.id}, {"device", block.device}, {"limit", machine_.devices()}});
    block.rank = machine_.device(block.device).rank;
    if (block.box.empty() || intersection(block.box, box()) != block.box)
      throw Error(ErrorCode::invalid_argument,
                  "block " + std::to_string(block.id) + ", from cell " + cell_text(block.box.lo) + " to before " +
                      cell_text(block.box.hi) + ", is empty or leaves the grid of " + to_string(extent_) +
                      " cells: give blocks of one or more of its cells",
                  {{"block", block.id}, {"lo", cell_text(block.box.lo)}, {"hi", cell_text(block.box.hi)}});
    cells += block.box.volume();
    blocks_.push_back(block);
  }
  index();
  for (const Block& block : blocks_)
    for (const std::int64_t other : overlapping(block.box))
      if (other != block.id)
        throw Error(ErrorCode::invalid_argument,
                    "blocks " + std::to_string(block.id) + " and " + std::to_string(other) +
                        " overlap, both have cell " + cell_text(intersection(block.box, blocks_[other].box).lo) +
                        ": give each cell to one block",
                    {{"block", block.id},
                     {"other", other},
                     {"cell", cell_text(intersection(block.box, blocks_[other].box).lo)}});
  require(!covered || cells == volume(extent_),
          "the blocks cover " + std::to_string(cells) + " of " + std::to_string(volume(extent_)) +
              " cells of the grid, and leave holes: give each cell to one block",
          {{"needed", volume(extent_)}, {"given", cells}});
}

void Grid::index() {
  std::vector<Box> boxes;
  for (const Block& block : blocks_) boxes.push_back(block.box);
  index_ = std::make_shared<const detail::BoxIndex>(std::move(boxes));

  std::map<int, Box> of_device;  // bounding box of the device's blocks
  for (const Block& block : blocks_) {
    Box& all = of_device.emplace(block.device, block.box).first->second;
    for (int a = 0; a < 3; ++a) {
      all.lo[a] = std::min(all.lo[a], block.box.lo[a]);
      all.hi[a] = std::max(all.hi[a], block.box.hi[a]);
      cuts_blocks_[a] |= block.box.extent(a) < extent_[a];
    }
  }
  for (const auto& [device, all] : of_device)
    for (int a = 0; a < 3; ++a) cuts_devices_[a] |= all.extent(a) < extent_[a];
}

std::vector<std::int64_t> Grid::overlapping(const Box& box) const { return index_->overlapping(box); }

}  // namespace slipstream

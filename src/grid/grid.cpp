#include <slipstream/grid.hpp>

#include <algorithm>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

/// Cells of `of` that a ghost layer of width 1 around `reader` reads, over all periodic images.
double ghost_cells(const Box& reader, const Box& of, const Extent& extent, const std::array<bool, 3>& periodic) {
  double cells = 0;
  const Extent reach{periodic[0] ? 1 : 0, periodic[1] ? 1 : 0, periodic[2] ? 1 : 0};
  const Box wide = grown(reader, {1, 1, 1});
  for (std::int64_t z = -reach[2]; z <= reach[2]; ++z)
    for (std::int64_t y = -reach[1]; y <= reach[1]; ++y)
      for (std::int64_t x = -reach[0]; x <= reach[0]; ++x) {
        const Box image = shifted(of, {x * extent[0], y * extent[1], z * extent[2]});
        cells += static_cast<double>(intersection(wide, image).volume());
      }
  return cells;
}

}  // namespace

Grid::Grid(Extent extent, const Machine& machine, int rank, GridOptions options)
    : extent_(extent), machine_(machine), rank_(rank), periodic_(options.periodic) {
  if (options.boxes.empty()) {
    cut_and_place(options);
  } else {
    take(options.boxes);
  }
  for (const Block& block : blocks_)
    if (block.rank == rank_) local_.push_back(block.id);
}

void Grid::cut_and_place(const GridOptions& options) {
  const bool uniform = machine_.uniform();
  const int nodes = uniform ? machine_.nodes() : 1;
  const int per_node = machine_.devices() / nodes;
  partition_ = slipstream::partition(extent_, nodes, per_node, options.partition);
  const std::int64_t per_device = volume(partition_.blocks);

  for (int node = 0; node < nodes; ++node) {
    std::vector<int> devices(per_node);
    for (int d = 0; d < per_node; ++d) devices[d] = uniform ? machine_.devices_of_node(node)[d] : d;
    std::vector<double> flow(per_node * per_node, 0.0), distance(per_node * per_node, 0.0);
    for (int i = 0; i < per_node; ++i)
      for (int j = 0; j < per_node; ++j) {
        if (i == j) continue;
        const Box &reader = partition_.device_boxes[node * per_node + i],
                  &of = partition_.device_boxes[node * per_node + j];
        flow[i * per_node + j] = ghost_cells(reader, of, extent_, periodic_);
        distance[i * per_node + j] = 1e-9 / std::max(1e-3, machine_.link(devices[i], devices[j]).gb_per_s);
      }
    std::vector<int> place(per_node);
    for (int d = 0; d < per_node; ++d) place[d] = d;
    trivial_cost_ += assignment_cost(flow, distance, place);
    if (options.placement == PlacementMethod::node_aware) place = quadratic_assignment(flow, distance, per_node);
    placement_cost_ += assignment_cost(flow, distance, place);

    for (int d = 0; d < per_node; ++d)
      for (std::int64_t b = 0; b < per_device; ++b) {
        Block block;
        block.id = static_cast<std::int64_t>(blocks_.size());
        block.box = partition_.boxes[block.id];
        block.device = devices[place[d]];
        block.rank = machine_.device(block.device).rank;
        blocks_.push_back(block);
      }
  }
}

void Grid::take(const std::vector<Block>& blocks) {
  std::int64_t cells = 0;
  for (Block block : blocks) {
    block.id = static_cast<std::int64_t>(blocks_.size());
    require(block.device >= 0 && block.device < machine_.devices(),
            "block " + std::to_string(block.id) + " was given to device " + std::to_string(block.device) +
                ", but the machine has " + std::to_string(machine_.devices()));
    block.rank = machine_.device(block.device).rank;
    require(!block.box.empty() && intersection(block.box, box()) == block.box,
            "block " + std::to_string(block.id) + " is empty or leaves the grid");
    for (const Block& other : blocks_)
      require(intersection(other.box, block.box).empty(),
              "blocks " + std::to_string(other.id) + " and " + std::to_string(block.id) + " overlap");
    cells += block.box.volume();
    blocks_.push_back(block);
  }
  require(cells == volume(extent_), "the blocks cover " + std::to_string(cells) + " of " +
                                        std::to_string(volume(extent_)) + " cells of the grid");
}

std::vector<std::int64_t> Grid::overlapping(const Box& box) const {
  std::vector<std::int64_t> found;
  for (const Block& block : blocks_)
    if (!intersection(block.box, box).empty()) found.push_back(block.id);
  return found;
}

}  // namespace slipstream

// Distributes blocks with bodies to devices by their fluid cells.
#include <algorithm>
#include <cstring>

#include "grid/balance.hpp"
#include "solver/lbm/step/stored_cells.hpp"

namespace slipstream::lbm {
namespace {

/// Share of fluid cells in each block of the grid: each rank counts its own blocks.
std::vector<double> fluid_shares(const Communicator& comm, const Grid& grid, const Surfaces& surfaces) {
  struct Share {
    std::int64_t block;
    double fluid;
  };
  std::vector<Share> mine;
  for (const std::int64_t id : grid.local()) {
    const Box& box = grid.block(id).box;
    std::int64_t fluid = 0;
    for (const std::uint16_t body : surfaces.solid(box)) fluid += body == 0;
    mine.push_back({id, static_cast<double>(fluid) / static_cast<double>(box.volume())});
  }
  std::vector<double> all(grid.blocks().size(), 0);
  const std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(Share));
  for (const std::string& text : comm.all_gather(bytes))
    for (std::size_t at = 0; at < text.size(); at += sizeof(Share)) {
      Share share;
      std::memcpy(&share, text.data() + at, sizeof(share));
      all.at(share.block) = share.fluid;
    }
  return all;
}

}  // namespace

GridOptions balanced(const Communicator& comm, const Machine& machine, const Extent& cells, GridOptions options,
                     const Surfaces& surfaces) {
  if (!surfaces.solid || !options.boxes.empty() || volume(options.partition.blocks_per_device) == 1) return options;
  const Grid grid(cells, machine, comm.rank(), options);
  const std::vector<double> shares = fluid_shares(comm, grid, surfaces);
  if (std::all_of(shares.begin(), shares.end(), [](double share) { return share == 1; })) return options;
  std::vector<Box> boxes;
  std::vector<double> weights;
  for (const Block& block : grid.blocks()) {
    boxes.push_back(block.box);
    weights.push_back(shares[block.id] * static_cast<double>(block.box.volume()));
  }
  const std::vector<int> owners = share_out(boxes, weights, machine.devices());
  for (std::size_t n = 0; n < boxes.size(); ++n) {
    Block block;
    block.box = boxes[n];
    block.device = owners[n];
    block.weight = shares[n];
    options.boxes.push_back(block);
  }
  return options;
}

}  // namespace slipstream::lbm

#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/box.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stencil.hpp>

namespace slipstream {

/// Which axis is cut where several are longest.
enum class Tie : std::uint8_t { slowest, x_first };

/// Prime factors of n, largest first.
std::vector<int> prime_factors(int n);
/// How often recursive inertial bisection cuts each axis: for each prime factor of `parts`, largest first, the axis
/// whose pieces are longest (Pearson et al. 2020, III.A).
Extent bisect(const Extent& extent, int parts, Tie tie = Tie::slowest);
/// The box of piece `index` when `box` is cut `counts[a]` times per axis; the first remainder pieces are one longer.
Box piece(const Box& box, const Extent& counts, const Extent& index);

/// One part of the grid on one device.
struct Block {
  std::int64_t id = 0;
  Box box;         ///< global cells, without ghosts
  int device = 0;  ///< in the machine's numbering
  int rank = 0;
  int level = 0;  ///< of refinement: ratio 2 between levels
  double weight = 1;
};

/// How to cut. Zeros mean: by bisection.
struct PartitionOptions {
  Extent nodes{0, 0, 0};    ///< node grid
  Extent devices{0, 0, 0};  ///< device grid within a node
  Extent blocks_per_device{1, 1, 1};
  Tie tie = Tie::slowest;
};

/// Nodes, then devices, then blocks, each level cut by itself; boxes in order node, device, block (x fastest).
struct Partition {
  Extent nodes{1, 1, 1}, devices{1, 1, 1}, blocks{1, 1, 1};  ///< counts per level
  std::vector<Box> device_boxes;                             ///< what each device holds, before it is cut into blocks
  std::vector<Box> boxes;                                    ///< the blocks
};
Partition partition(const Extent& extent, int nodes, int devices_per_node, const PartitionOptions& options = {});

enum class PlacementMethod : std::uint8_t { trivial, node_aware };

/// Assigns `parts` subdomains to as many devices: minimises the sum of flow[i][j] * distance[p(i)][p(j)].
/// Exact up to 8, pairwise exchange from several starts beyond. Deterministic.
std::vector<int> quadratic_assignment(const std::vector<double>& flow, const std::vector<double>& distance, int parts);
/// The sum that quadratic_assignment makes small.
double assignment_cost(const std::vector<double>& flow, const std::vector<double>& distance,
                       const std::vector<int>& place);

struct GridOptions {
  std::array<bool, 3> periodic{false, false, false};
  PartitionOptions partition;
  PlacementMethod placement = PlacementMethod::node_aware;
  std::vector<Block> boxes;  ///< the user's own blocks (box, device); partition and placement are then not used
};

/// A global box of cells cut into blocks that lie on the devices of a machine. Shared by fields and patterns.
class Grid {
 public:
  Grid(Extent extent, const Machine& machine, int rank, GridOptions options = {});

  const Extent& extent() const { return extent_; }
  Box box() const { return {{0, 0, 0}, extent_}; }
  int dimensions() const { return extent_[2] == 1 ? 2 : 3; }
  const std::array<bool, 3>& periodic() const { return periodic_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const Block& block(std::int64_t id) const { return blocks_.at(id); }
  /// Blocks on this rank, by id.
  const std::vector<std::int64_t>& local() const { return local_; }
  const Machine& machine() const { return machine_; }
  int rank() const { return rank_; }
  const Partition& partition() const { return partition_; }
  /// Cost of the placement in use and of the trivial one, in seconds of link time per byte of halo width 1.
  double placement_cost() const { return placement_cost_; }
  double trivial_cost() const { return trivial_cost_; }
  /// Ids of blocks that overlap the box (global cells, not wrapped).
  std::vector<std::int64_t> overlapping(const Box& box) const;

 private:
  void cut_and_place(const GridOptions& options);
  void take(const std::vector<Block>& blocks);
  Extent extent_;
  Machine machine_;
  int rank_ = 0;
  std::array<bool, 3> periodic_{};
  Partition partition_;
  std::vector<Block> blocks_;
  std::vector<std::int64_t> local_;
  double placement_cost_ = 0;
  double trivial_cost_ = 0;
};

}  // namespace slipstream

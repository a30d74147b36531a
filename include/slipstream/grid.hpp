#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/box.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stencil.hpp>

namespace slipstream {

/// Tie-break of the bisection: the axis to cut where several are longest.
enum class Tie : std::uint8_t { slowest, x_first };

/// Prime factors of n, largest first.
std::vector<int> prime_factors(int n);
/// Computes the number of pieces per axis by recursive inertial bisection (Pearson et al. 2020, III.A). Each prime
/// factor of `parts`, largest first, cuts the axis with the longest pieces.
Extent bisect(const Extent& extent, int parts, Tie tie = Tie::slowest);
/// Box of piece `index` when `box` is cut `counts[a]` times per axis. The first remainder pieces are one longer.
Box piece(const Box& box, const Extent& counts, const Extent& index);

/// A part of the grid that lies on one device.
struct Block {
  std::int64_t id = 0;
  Box box;         ///< global coordinates of the block's cells, without ghosts
  int device = 0;  ///< number of the block's device in the machine
  int rank = 0;
  int level = 0;  ///< level of refinement; the ratio between levels is 2
  double weight = 1;
};

/// How the grid is cut into nodes, devices and blocks: numbers of pieces per axis. Zeros: by bisection.
struct PartitionOptions {
  Extent nodes{0, 0, 0};    ///< number of pieces of the grid along each axis, one piece for each node
  Extent devices{0, 0, 0};  ///< number of pieces of a node's box along each axis, one for each of its devices
  Extent blocks_per_device{1, 1, 1};
  Tie tie = Tie::slowest;
};

/// Hierarchical partition: nodes, then devices, then blocks, each level cut separately. Boxes are in the order node,
/// device, block (x fastest).
struct Partition {
  Extent nodes{1, 1, 1}, devices{1, 1, 1}, blocks{1, 1, 1};  ///< pieces per axis: of the grid, of a node, of a device
  std::vector<Box> device_boxes;                             ///< box of each device, before it is cut into blocks
  std::vector<Box> boxes;                                    ///< box of each block
};
Partition partition(const Extent& extent, int nodes, int devices_per_node, const PartitionOptions& options = {});

/// Assignment of subdomains to devices. trivial: in order. random: shuffled. theoretical, measured: by quadratic
/// assignment with distance = 1 / rate, where the rates are the machine's own or measured ones.
enum class PlacementMethod : std::uint8_t { trivial, random, theoretical, measured };
std::string to_string(PlacementMethod method);
PlacementMethod placement_from_string(const std::string& name);

/// Quadratic assignment of `parts` subdomains to as many devices: minimises the sum of flow[i][j] *
/// distance[p(i)][p(j)]. Exact up to 8; beyond, pairwise exchange from several starts. Deterministic. It takes the
/// minimum nearest to 0, 1, 2, ... where there are several.
std::vector<int> quadratic_assignment(const std::vector<double>& flow, const std::vector<double>& distance, int parts);
/// Cost of a placement: the sum that quadratic_assignment minimises.
double assignment_cost(const std::vector<double>& flow, const std::vector<double>& distance,
                       const std::vector<int>& place);

struct GridOptions {
  std::array<bool, 3> periodic{false, false, false};
  int dimensions = 3;  ///< 2: the grid has one cell along z, and halos fill no ghosts along z
  PartitionOptions partition;
  PlacementMethod placement = PlacementMethod::theoretical;
  std::uint64_t placement_seed = 0;  ///< seed of random placement, the same on all ranks
  /// rates for measured placement: devices x devices, as measure_rates gives them
  std::vector<double> measured_gb_per_s;
  std::vector<Block> boxes;  ///< the user's own blocks (box, device); partition and placement are then not used
  bool covered = true;       ///< whether the user's own blocks must cover the grid
};

namespace detail {
class BoxIndex;
}

/// A global box of cells cut into blocks that lie on the devices of a machine. Shared by fields and patterns.
class Grid {
 public:
  Grid(Extent extent, const Machine& machine, int rank, GridOptions options = {});

  const Extent& extent() const { return extent_; }
  Box box() const { return {{0, 0, 0}, extent_}; }
  /// Number of dimensions as given in GridOptions: 2 or 3.
  int dimensions() const { return dimensions_; }
  const std::array<bool, 3>& periodic() const { return periodic_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const Block& block(std::int64_t id) const { return blocks_.at(id); }
  /// Ids of the blocks on this rank, ascending.
  const std::vector<std::int64_t>& local() const { return blocks_of(rank_); }
  /// Ids of the blocks on any rank, ascending.
  const std::vector<std::int64_t>& blocks_of(int rank) const;
  const Machine& machine() const { return machine_; }
  int rank() const { return rank_; }
  const Partition& partition() const { return partition_; }
  /// Whether some block is shorter than the grid along an axis.
  bool cuts_blocks(int axis) const { return cuts_blocks_[axis]; }
  /// Whether the least box round all blocks of some device is shorter than the grid along an axis.
  bool cuts_devices(int axis) const { return cuts_devices_[axis]; }
  /// Cost of the placement in use and of the trivial one: seconds of link time, summed over all pairs of devices. It
  /// counts a halo of width 1 and one byte a cell. The rates are the measured ones where given, else the machine's.
  double placement_cost() const { return placement_cost_; }
  double trivial_cost() const { return trivial_cost_; }
  /// Ids of blocks that overlap the box (global cells, not wrapped), ascending.
  std::vector<std::int64_t> overlapping(const Box& box) const;

 private:
  void cut_and_place(const GridOptions& options);
  void take(const std::vector<Block>& blocks, bool covered);
  void index();
  Extent extent_;
  Machine machine_;
  int rank_ = 0;
  int dimensions_ = 3;
  std::array<bool, 3> periodic_{};
  Partition partition_;
  std::vector<Block> blocks_;
  std::vector<std::vector<std::int64_t>> by_rank_;
  std::array<bool, 3> cuts_blocks_{}, cuts_devices_{};
  std::shared_ptr<const detail::BoxIndex> index_;  ///< spatial index of the blocks' boxes for overlap queries
  double placement_cost_ = 0;
  double trivial_cost_ = 0;
};

}  // namespace slipstream

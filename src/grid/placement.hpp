#pragma once
// Assigns the parts of a partition of the grid to devices.
#include <vector>

#include <slipstream/grid.hpp>

namespace slipstream::detail {

struct Placement {
  std::vector<int> devices;  ///< device of each part, in the order of Partition::device_boxes
  /// Time on the links in seconds, summed over pairs of devices, for one byte per cell of a halo of width 1.
  double cost = 0;
  double trivial_cost = 0;
};

/// Assigns boxes of the grid to nodes first, then to the devices of each node. All ranks get the same result.
Placement place(const Machine& machine, const Partition& partition, const Extent& extent, const GridOptions& options);

}  // namespace slipstream::detail

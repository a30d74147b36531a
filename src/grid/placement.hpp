#pragma once
// Which device gets which part of a partition.
#include <vector>

#include <slipstream/grid.hpp>

namespace slipstream::detail {

struct Placement {
  std::vector<int> devices;  ///< by part, in the order of Partition::device_boxes
  double cost = 0;           ///< seconds of link time, summed over pairs of devices, per byte a cell of halo width 1
  double trivial_cost = 0;
};

/// Nodes first, then the devices of each. Every rank finds the same.
Placement place(const Machine& machine, const Partition& partition, const Extent& extent, const GridOptions& options);

}  // namespace slipstream::detail

#pragma once
#include <functional>

#include <slipstream/box.hpp>
#include <slipstream/machine.hpp>

namespace slipstream {

/// The largest grid of this shape that fits in memory; zeros if none does. `memory_share_of` returns the largest
/// fraction of its memory that any device needs for these cells. It throws Error if the cells cannot be partitioned.
Extent largest_extent(const Machine& machine, Extent shape,
                      const std::function<double(const Extent&)>& memory_share_of);

}  // namespace slipstream

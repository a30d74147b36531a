#pragma once
#include <functional>

#include <slipstream/box.hpp>
#include <slipstream/machine.hpp>

namespace slipstream {

/// The largest grid of the same shape that fits, zeros where none does. `fullness_of`: the largest share of its memory
/// that any device needs for so many cells; throws Error where they cannot be cut.
Extent largest_extent(const Machine& machine, Extent shape, const std::function<double(const Extent&)>& fullness_of);

}  // namespace slipstream

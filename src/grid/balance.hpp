#pragma once
#include <vector>

#include <slipstream/box.hpp>

namespace slipstream {

/// Gives each of some boxes, which cost as much as their weights say, to one of `parts` devices: every device gets at
/// least one, and neighbours. Cut in two again and again, along the longest axis of what is left, where the weights
/// have the ratio of the devices on both sides.
std::vector<int> share_out(const std::vector<Box>& boxes, const std::vector<double>& weights, int parts);

}  // namespace slipstream

#pragma once
#include <vector>

#include <slipstream/box.hpp>

namespace slipstream {

/// Distributes weighted boxes over `parts` devices by recursive bisection. Each device gets at least one box, and its
/// boxes are neighbours. Each cut is across the longest axis, and its weights have the ratio of the devices on both
/// sides.
std::vector<int> share_out(const std::vector<Box>& boxes, const std::vector<double>& weights, int parts);

}  // namespace slipstream

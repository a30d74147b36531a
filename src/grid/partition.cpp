#include <algorithm>

#include <slipstream/error.hpp>
#include <slipstream/grid.hpp>

namespace slipstream {

std::vector<int> prime_factors(int n) {
  require(n >= 1, "a number below 1 has no prime factors");
  std::vector<int> factors;
  for (int p = 2; n > 1; ++p)
    for (; n % p == 0; n /= p) factors.push_back(p);
  std::reverse(factors.begin(), factors.end());
  return factors;
}

Extent bisect(const Extent& extent, int parts, Tie tie) {
  Extent counts{1, 1, 1};
  for (const int factor : prime_factors(parts)) {
    int longest = -1;
    for (int step = 0; step < 3; ++step) {
      const int a = tie == Tie::x_first ? step : 2 - step;
      if (counts[a] * factor > extent[a]) continue;
      // Compares the lengths extent / count in integers, without rounding.
      if (longest < 0 || extent[a] * counts[longest] > extent[longest] * counts[a]) longest = a;
    }
    require(longest >= 0, ErrorCode::unsupported,
            "a grid of " + to_string(extent) + " cells cannot be cut into " + std::to_string(parts) +
                " blocks: use fewer devices, ranks or blocks, or more cells",
            {{"cells", to_string(extent)}, {"blocks", parts}});
    counts[longest] *= factor;
  }
  return counts;
}

Box piece(const Box& box, const Extent& counts, const Extent& index) {
  Box part;
  for (int a = 0; a < 3; ++a) {
    const std::int64_t size = box.extent(a) / counts[a], longer = box.extent(a) % counts[a];
    part.lo[a] = box.lo[a] + index[a] * size + std::min(index[a], longer);
    part.hi[a] = part.lo[a] + size + (index[a] < longer ? 1 : 0);
  }
  return part;
}

namespace {

/// Cuts each box into counts[0] x counts[1] x counts[2] pieces, x fastest.
std::vector<Box> cut(const std::vector<Box>& boxes, const Extent& counts) {
  std::vector<Box> pieces;
  pieces.reserve(boxes.size() * volume(counts));
  for (const Box& box : boxes)
    for (std::int64_t z = 0; z < counts[2]; ++z)
      for (std::int64_t y = 0; y < counts[1]; ++y)
        for (std::int64_t x = 0; x < counts[0]; ++x) pieces.push_back(piece(box, counts, {x, y, z}));
  return pieces;
}

Extent chosen(const Extent& wanted, const Extent& extent, int parts, Tie tie, const std::string& what) {
  if (volume(wanted) == 0) return bisect(extent, parts, tie);
  require(volume(wanted) == parts,
          "the " + what + " grid " + to_string(wanted) + " has " + std::to_string(volume(wanted)) + " places for " +
              std::to_string(parts),
          {{"given", volume(wanted)}, {"needed", parts}});
  return wanted;
}

}  // namespace

Partition partition(const Extent& extent, int nodes, int devices_per_node, const PartitionOptions& options) {
  require(volume(extent) > 0 && extent[0] > 0 && extent[1] > 0,
          "a grid of " + to_string(extent) + " cells has no cells: every extent must be at least 1",
          {{"option", "cells"}, {"given", to_string(extent)}});
  Partition result;
  result.nodes = chosen(options.nodes, extent, nodes, options.tie, "node");
  const std::vector<Box> whole{{{0, 0, 0}, extent}};
  const auto node_boxes = cut(whole, result.nodes);
  result.devices = chosen(options.devices, node_boxes.front().extents(), devices_per_node, options.tie, "device");
  result.device_boxes = cut(node_boxes, result.devices);
  result.blocks = options.blocks_per_device;
  require(volume(result.blocks) >= 1, "blocks_per_device must be at least 1 on every axis");
  result.boxes = cut(result.device_boxes, result.blocks);
  for (const Box& box : result.boxes)
    require(!box.empty(), ErrorCode::unsupported,
            "a grid of " + to_string(extent) + " cells cannot be cut into " + to_string(result.nodes) + " nodes of " +
                to_string(result.devices) + " devices of " + to_string(result.blocks) +
                " blocks: some blocks would have no cells",
            {{"cells", to_string(extent)}, {"blocks", to_string(result.blocks)}});
  return result;
}

}  // namespace slipstream

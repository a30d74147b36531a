#pragma once
// Distributes the devices and cores of a host. Pure functions, so that all ranks get the same result from the same
// input.
#include <vector>

namespace slipstream::detail {

/// Distributes devices evenly among ranks, nearest first; with more ranks than devices, ranks share devices evenly.
/// `distance[rank][device]`; with equal distances, consecutive ranks get consecutive devices.
std::vector<std::vector<int>> share_devices(const std::vector<std::vector<int>>& distance);

/// Devices of the rank at position `place` on its host: each rank takes the next `count` of all `devices`, cyclically.
std::vector<int> devices_in_turn(int place, int count, int devices);

/// Cores for rank `me` of a host. `near`: sorted cores near to each rank. Ranks with equal sets split their set; if
/// sets overlap partially, all ranks split `cores`. Empty if a rank would get no core of its own.
std::vector<int> share_cores(const std::vector<int>& cores, const std::vector<std::vector<int>>& near, int me);

/// Simulated node of each of the `ranks` ranks of a host, with `per_node` ranks a node (0: one node).
std::vector<int> split_host(int ranks, int per_node, bool cyclic);

}  // namespace slipstream::detail

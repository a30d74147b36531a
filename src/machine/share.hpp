#pragma once
// Who on a host gets what: pure functions, so that every rank finds the same answer from the same input.
#include <vector>

namespace slipstream::detail {

/// Shares devices out evenly among ranks, nearest first; with more ranks than devices, ranks share a device evenly.
/// `distance[rank][device]`; where all are equal, consecutive ranks get consecutive devices.
std::vector<std::vector<int>> share_devices(const std::vector<std::vector<int>>& distance);

/// The cores of rank `me`, given which cores (sorted) are near to each rank. Ranks with the same near cores split them;
/// ranks whose near cores overlap otherwise split all of `cores`. Empty where a rank would have no core of its own.
std::vector<int> share_cores(const std::vector<int>& cores, const std::vector<std::vector<int>>& near, int me);

/// Which of the host's pretended nodes each of its `ranks` ranks belongs to, `per_node` ranks each (0: all on one).
std::vector<int> split_host(int ranks, int per_node, bool cyclic);

}  // namespace slipstream::detail

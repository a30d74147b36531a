#pragma once
#include <vector>

#include <slipstream/simulation.hpp>

namespace slipstream {

/// The largest share of its memory that any device needs; above 1 the arrays do not fit into memory.
double memory_share(const Machine& machine, const std::vector<ArrayBytes>& needed);

}  // namespace slipstream

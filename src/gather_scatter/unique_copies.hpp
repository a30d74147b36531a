#pragma once
#include <vector>

#include "gather_scatter/holders.hpp"

namespace slipstream {

/// Of one device, from its points and from all holders of ids that it shares with others, both sorted.
UniqueCopies find_unique(int device, const SharedPoints& points, const Points& sorted,
                         const std::vector<Holder>& shared);

}  // namespace slipstream

#pragma once
#include <vector>

#include "gather_scatter/holders.hpp"

namespace slipstream {

/// Compiles the lists of one device. `sorted`: its points, sorted by id. `shared`: all holders of ids that it shares.
UniqueCopies find_unique(int device, const SharedPoints& points, const Points& sorted,
                         const std::vector<Holder>& shared);

}  // namespace slipstream

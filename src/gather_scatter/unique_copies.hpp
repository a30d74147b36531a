#pragma once
#include <vector>

#include "gather_scatter/holders.hpp"

namespace slipstream {

/// Compiles one device's lists for unique values. `sorted`: its points by id. `shared`: blocks with the ids it shares.
UniqueCopies find_unique(int device, const SharedPoints& points, const Points& sorted,
                         const std::vector<Holder>& shared);

}  // namespace slipstream

#pragma once
// Cuts boundary regions into pieces that run concurrently.
#include <vector>

#include <slipstream/box.hpp>

namespace slipstream::lbm {

/// Cuts slabs into pieces of about `cells` cells, across their longest axis except that of rows. Each cell is in one
/// piece, and rows stay whole.
std::vector<Box> boundary_pieces(const std::vector<Box>& slabs, std::int64_t cells, int row_axis);

}  // namespace slipstream::lbm

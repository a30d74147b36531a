#pragma once
#include <cstdint>
#include <vector>

#include <slipstream/box.hpp>

namespace slipstream {

/// Splits a box into pieces of at most `limit` bytes (at least one cell each), in the order of memory. Pieces are whole
/// layers if these fit, else whole rows, else runs of cells. They cover each cell once.
std::vector<Box> cut_into_pieces(const Box& box, std::int64_t bytes_per_cell, std::int64_t limit);

}  // namespace slipstream

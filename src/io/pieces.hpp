#pragma once
#include <cstdint>
#include <vector>

#include <slipstream/box.hpp>

namespace slipstream {

/// Cuts a box into whole layers, else whole rows, else runs of cells, of at most `limit` bytes each (one cell at
/// least), in the order of memory. Together they cover every cell once.
std::vector<Box> cut_into_pieces(const Box& box, std::int64_t bytes_per_cell, std::int64_t limit);

}  // namespace slipstream

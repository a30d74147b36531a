#include "solver/lbm/step/boundary_pieces.hpp"

#include <algorithm>

#include <slipstream/grid.hpp>

namespace slipstream::lbm {

std::vector<Box> boundary_pieces(const std::vector<Box>& slabs, std::int64_t cells, int row_axis) {
  std::vector<Box> pieces;
  for (const Box& slab : slabs) {
    Extent counts{1, 1, 1};
    int longest = (row_axis + 1) % 3;
    if (const int other = (row_axis + 2) % 3; slab.extent(other) > slab.extent(longest)) longest = other;
    counts[longest] = std::min(slab.extent(longest), (slab.volume() + cells - 1) / cells);
    for (Extent at{0, 0, 0}; at[longest] < counts[longest]; ++at[longest]) pieces.push_back(piece(slab, counts, at));
  }
  return pieces;
}

}  // namespace slipstream::lbm

#pragma once
// Access to the kinds of cells around a block, row by row and cell by cell.
#include <cstdint>
#include <vector>

#include "solver/lbm/links/links.hpp"

namespace slipstream::lbm {

/// Number of fluid cells in a box.
std::int64_t count_fluid(const Surroundings& s, const Box& box);

/// Finds the neighbours of a block's cells. Where the kernel wraps, cells beyond a side are those at the block's other
/// end.
class Neighbours {
 public:
  Neighbours(const Grid& grid, const Block& block, const Surroundings& s);

  /// Coordinates of a cell in the block or next to it, after periodic wrapping.
  Extent wrapped(Extent p) const {
    for (int a = 0; a < 3; ++a) {
      if (period_[a] == 0) continue;
      if (p[a] < 0) p[a] += period_[a];
      if (p[a] >= period_[a]) p[a] -= period_[a];
    }
    return p;
  }
  std::uint8_t flag(const Extent& p) const { return s_.flags[index_in(s_.around, wrapped(p))]; }
  /// Sets out[x] to 0 for fluid cells of the block's row (y, z) whose neighbours are all fluid, else not to 0.
  void mark_others(std::int64_t y, std::int64_t z, std::vector<std::uint8_t>& out) const;

 private:
  const Surroundings& s_;
  Box box_;
  Extent period_{0, 0, 0};  // number of cells on axes where coordinates wrap, else 0
};

}  // namespace slipstream::lbm

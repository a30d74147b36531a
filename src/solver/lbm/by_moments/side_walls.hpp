#pragma once
// Half-way resting walls at sides of a block that a step by moments handles without lists.
#include "solver/lbm/lattice/kernels.hpp"

namespace slipstream::lbm {

struct SideWalls {
  int extent[3];   ///< extent of the block in cells
  unsigned sides;  ///< bits of sides that are half-way resting walls

  explicit SideWalls(const BlockArrays& b) : sides(b.walls) {
    for (int a = 0; a < 3; ++a) extent[a] = static_cast<int>(b.flags.shape.extent[a]);
  }

  /// Bits of the walls that are next to a cell.
  SLIP_FN unsigned beside(int x, int y, int z) const {
    return sides == 0 ? 0 : along(0, x) | along(1, y) | along(2, z);
  }
  SLIP_FN unsigned along(int axis, int at) const {
    const unsigned low = at == 0 ? side_bit(axis, false) : 0, high = at == extent[axis] - 1 ? side_bit(axis, true) : 0;
    return (low | high) & sides;
  }
  /// Whether a coordinate lies behind one of the walls, where values are never read.
  SLIP_FN bool behind(int axis, int at) const {
    return (at < 0 && (sides & side_bit(axis, false)) != 0) ||
           (at >= extent[axis] && (sides & side_bit(axis, true)) != 0);
  }
  /// Whether population `h` of a cell comes back from one of the walls in `beside`.
  SLIP_FN static bool out_of(unsigned beside, const Heading& h) {
    const unsigned sides = (h.x == 0  ? 0u
                            : h.x > 0 ? 1u
                                      : 2u) |
                           (h.y == 0  ? 0u
                            : h.y > 0 ? 4u
                                      : 8u) |
                           (h.z == 0  ? 0u
                            : h.z > 0 ? 16u
                                      : 32u);
    return (beside & sides) != 0;
  }
};

}  // namespace slipstream::lbm

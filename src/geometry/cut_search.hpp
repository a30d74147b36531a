#pragma once
#include <vector>

#include <slipstream/cut.hpp>
#include <slipstream/stencil.hpp>

#include "geometry/solid_rows.hpp"
#include "geometry/surfaces.hpp"

namespace slipstream {

/// Parallel lines through cells, with the indices of both directions along them in the caller's list; -1: not needed.
struct CutDirections {
  const LineIndex* lines;
  int forth = -1, back = -1;
};

/// Finds the lattice links of a box of cells that surfaces cut, in the order that Bodies::cuts guarantees. `rows`: the
/// solid cells of the box and of one more layer of cells on each side.
std::vector<Cut> find_cuts(const Surfaces& surfaces, const SolidRows& rows, const std::vector<Direction>& directions,
                           const std::vector<CutDirections>& families);

}  // namespace slipstream

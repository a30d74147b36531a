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

/// Finds the cut links of a box, in the order that Bodies::cuts guarantees. `rows` must hold one more layer on each
/// side.
std::vector<Cut> find_cuts(const Surfaces& surfaces, const SolidRows& rows, const std::vector<Direction>& directions,
                           const std::vector<CutDirections>& families);

}  // namespace slipstream

#pragma once
#include <vector>

#include <slipstream/cut.hpp>
#include <slipstream/stencil.hpp>

#include "geometry/solid_rows.hpp"
#include "geometry/surfaces.hpp"

namespace slipstream {

/// One family of lines and the directions that lead along it: places in the caller's list, -1 where it is not wanted.
struct CutDirections {
  const LineIndex* lines;
  int forth = -1, back = -1;
};

/// The cut links of the box that `rows` holds one layer more of on every side, in the order that Bodies::cuts promises.
std::vector<Cut> find_cuts(const Surfaces& surfaces, const SolidRows& rows, const std::vector<Direction>& directions,
                           const std::vector<CutDirections>& families);

}  // namespace slipstream

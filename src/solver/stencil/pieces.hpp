#pragma once
// Boxes of a block that are updated in one step: interior and boundary regions.
#include <vector>

#include <slipstream/box.hpp>
#include <slipstream/simulation.hpp>

namespace slipstream::stencil {

/// A box of cells within a block, and whether its cells need the kernels that handle sides.
struct Piece {
  Box box;
  bool sides = false;
};
using Pieces = std::vector<Piece>;

/// The boxes that a block updates in a step, which depend on the number of steps since the exchange.
struct Work {
  Pieces all, interior, boundary;
  const Pieces& of(Part part) const { return part == Part::all ? all : part == Part::interior ? interior : boundary; }
};

}  // namespace slipstream::stencil

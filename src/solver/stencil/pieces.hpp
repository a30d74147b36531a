#pragma once
// The update of one block: interior and boundary regions.
#include <vector>

#include <slipstream/box.hpp>
#include <slipstream/simulation.hpp>

namespace slipstream::stencil {

/// A box of a block, and whether its cells need the kernels for sides.
struct Piece {
  Box box;
  bool sides = false;
};
using Pieces = std::vector<Piece>;

/// Boxes that a block updates in a step, by the number of steps since the exchange.
struct Work {
  Pieces all, interior, boundary;
  const Pieces& of(Part part) const { return part == Part::all ? all : part == Part::interior ? interior : boundary; }
};

}  // namespace slipstream::stencil

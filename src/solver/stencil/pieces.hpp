#pragma once
// What a block computes in a step.
#include <vector>

#include <slipstream/box.hpp>
#include <slipstream/simulation.hpp>

namespace slipstream::stencil {

/// A box of a block, and whether its cells lie beside sides that have kernels of their own.
struct Piece {
  Box box;
  bool sides = false;
};
using Pieces = std::vector<Piece>;

/// What a block computes in a step, by how many steps the exchange is ago.
struct Work {
  Pieces all, interior, rim;
  const Pieces& of(Part part) const { return part == Part::all ? all : part == Part::interior ? interior : rim; }
};

}  // namespace slipstream::stencil

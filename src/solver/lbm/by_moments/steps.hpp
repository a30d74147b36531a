#pragma once
// The steps of one number format, plain or under a force or with eddies; each in a unit of its own, for they take a
// compiler longest. steps_of.hpp has them.
#include "solver/lbm/step/kernels.hpp"

namespace slipstream::lbm {

template <class S, bool plain>
struct MomentSteps {
  static void stream_collide(Stream& stream, const Box& box, const BlockArrays& b, const Model& model);
  static void step_boundary(Stream& stream, const BlockArrays& b, const Model& model);
};

}  // namespace slipstream::lbm

#pragma once
#include "solver/lbm/collision/cumulant.hpp"
#include "solver/lbm/instances/collide_by_model.hpp"

namespace slipstream::lbm {

template <class L, class S>
void collide_by_cumulants(Stream& stream, const Box& box, const BlockArrays& block, Layout layout, const Model& model) {
  collide_by<L, S>(stream, box, block, layout, model, Cumulant<L, typename S::Number>(model.plus));
}

}  // namespace slipstream::lbm

#pragma once
// The step by every collision, with or without eddies, under a force. A force of zero changes no bit, so that only TRT
// has kernels without: few kernels, and six for each collision. One, for the host, knows that neighbours in x are
// neighbours in memory and can become vector instructions; the others take any strides, wrap round in x and may leave
// solid cells alone, one of them in place, one knowing walls; two are for packed blocks.
#include "solver/lbm/collision/cumulant.hpp"
#include "solver/lbm/collision/guo.hpp"
#include "solver/lbm/collision/mrt.hpp"
#include "solver/lbm/collision/smagorinsky.hpp"
#include "solver/lbm/collision/srt.hpp"
#include "solver/lbm/kernels_of.hpp"

namespace slipstream::lbm {

template <class L, class S, class Collision>
void collide_forced(Stream& stream, const Box& box, const BlockArrays& block, Layout layout, const Model& model,
                    const Collision& collision) {
  const Guo<L, typename S::Number, Collision> forced(collision, model.force[0], model.force[1], model.force[2]);
  if (block.numbering.words != nullptr)
    return block.form == Form::apart ? launch_packed_step<L, S, false>(stream, block, forced)
                                     : launch_packed_step<L, S, true>(stream, block, forced);
  const bool leave = block.has_solids && block.leave_solids;
  const bool host = stream.device().backend == Backend::host;
  if constexpr (step_knows_walls<S>(false))
    if (block.walls != 0)
      return launch_step<L, S, Strides::any, AtSolids::leave, Sides::walls, false>(stream, box, block, forced);
  if (block.form != Form::apart) {
    launch_step<L, S, Strides::any, AtSolids::leave, Sides::wrap, true>(stream, box, block, forced);
  } else if (host && layout == Layout::soa && block.wrap.extent[0] == 0 && !leave) {
    launch_step_on_host<L, S>(stream, box, block, forced);
  } else {
    launch_step<L, S, Strides::any, AtSolids::leave, Sides::wrap, false>(stream, box, block, forced);
  }
}

template <class L, class S>
void collide_by_model(Stream& stream, const Box& box, const BlockArrays& block, Layout layout, const Model& model) {
  using T = typename S::Number;
  const auto forced = [&](const auto& collision) {
    collide_forced<L, S>(stream, box, block, layout, model, collision);
  };
  const auto with_eddies = [&]<class Collision>(const Collision& collision) {
    if (model.smagorinsky) {
      forced(Smagorinsky<L, T, Collision>(collision, model.viscosity, *model.smagorinsky));
    } else {
      forced(collision);
    }
  };
  switch (model.collision) {
    case Collision::srt:
      // TRT of equal rates, but for eddies, which change both.
      if (!model.smagorinsky) return forced(Trt<L, T>(model.plus, model.plus));
      return forced(Smagorinsky<L, T, Srt<L, T>>(Srt<L, T>(model.plus), model.viscosity, *model.smagorinsky));
    case Collision::trt:
      return with_eddies(Trt<L, T>(model.plus, model.minus));
    case Collision::mrt:
      return with_eddies(Mrt<L, T>(model.plus, model.minus));
    case Collision::cumulant:
      if constexpr (L::q == 27) return with_eddies(Cumulant<L, T>(model.plus));
  }
  throw Error("no kernel for the collision " + to_string(model.collision) + " on a lattice of " + std::to_string(L::q) +
              " velocities: lbm::check refuses such options");
}

}  // namespace slipstream::lbm

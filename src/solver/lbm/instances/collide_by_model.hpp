#pragma once
// Instantiates the step for every collision, with and without LES model, under a force. A force of zero changes no bit,
// so only TRT has kernels without a force. Each collision, with LES or without, has four kernels. Two take any strides,
// and may wrap in x, handle walls and leave solid cells alone; one of them works in place. Two are for packed blocks.
// The host has two more, one with an LES model, for neighbours in x that are neighbours in memory: they vectorise.
#include "solver/lbm/collision/guo.hpp"
#include "solver/lbm/collision/mrt.hpp"
#include "solver/lbm/collision/smagorinsky.hpp"
#include "solver/lbm/collision/srt.hpp"
#include "solver/lbm/step/kernels_of.hpp"

namespace slipstream::lbm {

template <class L, class S, class Collision>
auto forced(const Model& model, const Collision& collision) {
  return Guo<L, typename S::Number, Collision>(collision, model.force[0], model.force[1], model.force[2]);
}

template <class L, class S, class Collision>
void collide_by_vectors(Stream& stream, const Box& box, const BlockArrays& block, const Model& model,
                        const Collision& collision) {
  using T = typename S::Number;
  if (!model.smagorinsky) return launch_vector_step<L, S, false>(stream, box, block, forced<L, S>(model, collision));
  const Smagorinsky<L, T, Collision> with_eddies(collision, model.viscosity, *model.smagorinsky);
  launch_vector_step<L, S, false>(stream, box, block, forced<L, S>(model, with_eddies));
}

template <class L, class S, bool in_place, class Collision>
void collide_anywhere(Stream& stream, const Box& box, BlockArrays block, const Model& model,
                      const Collision& collision) {
  using T = typename S::Number;
  block.skip_solids = block.leave_solids;
  const MaybeSmagorinsky<L, T, Collision> maybe(collision, model.viscosity, model.smagorinsky);
  if (block.numbering.words != nullptr)
    return launch_packed_step<L, S, in_place>(stream, block, forced<L, S>(model, maybe));
  constexpr Sides sides = step_knows_walls<S>(in_place) ? Sides::walls : Sides::wrap;
  launch_any_step<L, S, sides, in_place>(stream, box, block, forced<L, S>(model, maybe));
}

template <class L, class S, class Collision>
void collide_by(Stream& stream, const Box& box, const BlockArrays& block, Layout layout, const Model& model,
                const Collision& collision) {
  if (block.form != Form::apart) return collide_anywhere<L, S, true>(stream, box, block, model, collision);
  if (block.numbering.words == nullptr && has_vector_step(stream, block, layout))
    return collide_by_vectors<L, S>(stream, box, block, model, collision);
  collide_anywhere<L, S, false>(stream, box, block, model, collision);
}

/// Advances cells by the cumulant collision, for a lattice of 27 velocities; defined in collide_by_cumulants.hpp.
template <class L, class S>
void collide_by_cumulants(Stream& stream, const Box& box, const BlockArrays& block, Layout layout, const Model& model);

template <class L, class S>
void collide_by_model(Stream& stream, const Box& box, const BlockArrays& block, Layout layout, const Model& model) {
  using T = typename S::Number;
  const auto collide = [&](const auto& collision) { collide_by<L, S>(stream, box, block, layout, model, collision); };
  switch (model.collision) {
    case Collision::srt: {
      const Trt<L, T> equal_rates = Srt<L, T>(model.plus);
      return collide(equal_rates);
    }
    case Collision::trt:
      return collide(Trt<L, T>(model.plus, model.minus));
    case Collision::mrt:
      return collide(Mrt<L, T>(model.plus, model.minus));
    case Collision::cumulant:
      if constexpr (L::q == 27) return collide_by_cumulants<L, S>(stream, box, block, layout, model);
      break;
    case Collision::regularised:
    case Collision::recursive:
      break;  // these collisions exist only in the moment representation
  }
  throw Error(ErrorCode::internal, "no kernel for the collision " + to_string(model.collision) + " on a lattice of " +
                                       std::to_string(L::q) + " velocities: lbm::check refuses such options");
}

}  // namespace slipstream::lbm

#pragma once
// Kernels of one lattice and number format, as functors for both backends.
#include "solver/lbm/collision/trt.hpp"
#include "solver/lbm/links/apply.hpp"
#include "solver/lbm/links/population_links.hpp"
#include "solver/lbm/step/cell_kernels.hpp"
#include "solver/lbm/step/moves.hpp"
#include "solver/lbm/step/start.hpp"
#include "solver/lbm/step/stream_collide_groups.hpp"
#include "solver/lbm/step/stream_collide_packed.hpp"

namespace slipstream::lbm {

/// Advances cells with a force, an LES model, or a collision other than SRT and TRT. See collide_by_model.hpp.
template <class L, class S>
void collide_by_model(Stream& stream, const Box& box, const BlockArrays& block, Layout layout, const Model& model);

template <class L, class S>
class KernelsOf final : public CellKernels<Populations<L, S>> {
  using T = typename S::Number;

 public:
  bool knows_walls(bool in_place, Layout layout) const override {
    return step_knows_walls<S>(in_place) && layout != Layout::aos;
  }

  void start(Stream& stream, const Box& box, const BlockArrays& b, const Model& model) const override {
    PopulationsStart<S>::template of<L>().at_rest(stream, box, b, model);
  }

  void start_from(Stream& stream, const Box& box, const BlockArrays& b, const Model& model,
                  const FlowValues& flow) const override {
    PopulationsStart<S>::template of<L>().flow(stream, box, b, GivenFlow(flow, model));
  }

  void stream_collide(Stream& stream, const Box& box, const BlockArrays& b, Layout layout,
                      const Model& model) const override {
    if (!model.plain()) return collide_by_model<L, S>(stream, box, b, layout, model);
    b.form == Form::apart ? collide_plainly<false>(stream, box, b, layout, model)
                          : collide_plainly<true>(stream, box, b, layout, model);
  }

  void rearrange(Stream& stream, const BlockArrays& b, Form to, std::byte* spare) const override {
    moves.rearrange(stream, b, to, spare);
  }
  void transcribe(Stream& stream, const BlockArrays& from, const BlockArrays& to) const override {
    moves.transcribe(stream, from, to);
  }
  void rest_solids(Stream& stream, const BlockArrays& b) const override { moves.rest_solids(stream, b); }
  void place_links(Stream& stream, std::span<const Link> list, const BlockArrays& b, Bounce* places) const override {
    moves.place_links(stream, list, b, places);
  }

  void apply_links(Stream& stream, const LinkSpans& list, const BlockArrays& b, const Model& model) const override {
    const Populations<L, S> cells(b);
    moves.rebound(stream, list.resting, b);
    links.known(stream, list, b);
    apply_pressure(stream, list, cells, model, b.together);
    links.convective(stream, list, b);
    apply_held(stream, list, cells, b);
    links.interpolated(stream, list, b);
  }
  void loads(Together& together, std::span<const LoadLink> list, const std::array<double, 3>& corner,
             const BlockArrays& b, double* sums) const override {
    links.loads(together, list, corner, b, sums);
  }

 private:
  static constexpr Moves moves{headings_of<L>(), sizeof(typename S::Word)};
  static constexpr PopulationLinks<S> links{headings_of<L>()};

  template <bool in_place>
  static void collide_plainly(Stream& stream, const Box& box, const BlockArrays& b, Layout layout, const Model& model) {
    using Raw = typename S::Raw;
    const Trt<L, T, Raw::unit> collision(model.plus, model.minus);
    if (b.numbering.words != nullptr) return launch_packed_step<L, Raw, in_place>(stream, b, collision);
    if (has_vector_step(stream, b, layout)) return launch_vector_step<L, Raw, in_place>(stream, box, b, collision);
    if (!launched_by_rows<in_place>(stream, box, b, layout, collision))
      launch_any_step<L, Raw, in_place>(stream, box, b, collision);
  }

  /// Launches the step of whole rows of cells, for large blocks on GPUs; returns whether it did.
  template <bool in_place, class Collision>
  static bool launched_by_rows(Stream& stream, const Box& box, const BlockArrays& b, Layout layout,
                               const Collision& collision) {
    if (stream.device().backend == Backend::host || layout == Layout::aos || b.together ||
        (b.has_solids && !b.leave_solids))
      return false;
    if (layout == Layout::soa) return launched_by_rows_of<L, in_place>(stream, box, b, collision);
    if constexpr (L::dimensions == 3)
      return launched_by_rows_of<AlongZ<L>, in_place>(stream, along_z(box), along_z(b), collision);
    return false;
  }

  /// Launches the step cell by cell. `M`: the lattice as memory sees it, with x and z swapped for rows along z.
  template <class M, bool in_place, class Collision>
  static bool launched_by_rows_of(Stream& stream, const Box& box, const BlockArrays& b, const Collision& collision) {
    if constexpr (step_knows_walls<S>(in_place))
      if (b.walls != 0) return launched_by_rows_of<M, Sides::walls, in_place>(stream, box, b, collision);
    return launched_by_rows_of<M, Sides::wrap, in_place>(stream, box, b, collision);
  }

  template <class M, Sides sides, bool in_place, class Collision>
  static bool launched_by_rows_of(Stream& stream, const Box& box, const BlockArrays& b, const Collision& collision) {
    using Raw = typename S::Raw;
    if (b.has_solids) return launch_groups<M, Raw, AtSolids::leave, sides, in_place>(stream, box, b, collision);
    if (launch_groups<M, Raw, AtSolids::none, sides, in_place>(stream, box, b, collision)) return true;
    launch_on_gpu(stream, box, step_of<M, Raw, Strides::soa, AtSolids::none, sides, in_place>(b, collision));
    return true;
  }
};

}  // namespace slipstream::lbm

#pragma once
// The kernels of the moment representation for one number format.
#include "solver/lbm/by_moments/start.hpp"
#include "solver/lbm/by_moments/steps_of.hpp"
#include "solver/lbm/links/apply.hpp"
#include "solver/lbm/step/cell_kernels.hpp"

namespace slipstream::lbm {

template <class S>
class MomentKernelsOf final : public CellKernels<MomentCells<S>> {
  using CellKernels<MomentCells<S>>::half;
  using Cells = MomentCells<S>;

 public:
  bool knows_walls(bool, Layout) const override { return true; }

  void start(Stream& stream, const Box& box, const BlockArrays& b, const Model& model) const override {
    launch(stream, box, RestByMoments<S>{StartCells<S>(b), {half(model, 0), half(model, 1), half(model, 2)}});
  }

  void start_from(Stream& stream, const Box& box, const BlockArrays& b, const Model& model,
                  const FlowValues& flow) const override {
    launch(stream, box, StartByMoments<S>{StartCells<S>(b), GivenFlow(flow, model)});
  }

  void stream_collide(Stream& stream, const Box& box, const BlockArrays& b, Layout, const Model& model) const override {
    is_plain(model) ? MomentSteps<S, true>::stream_collide(stream, box, b, model)
                    : MomentSteps<S, false>::stream_collide(stream, box, b, model);
  }

  void apply_links(Stream& stream, const LinkSpans& links, const BlockArrays& b, const Model& model) const override {
    // Boundary cells gather populations from their neighbours first: links to walls and openings then replace some.
    launch_per_link(stream, b.boundary.list.size(), GatherArrivals<S>{Cells(b), b.boundary.list.data()}, b.together);
    const Cells cells(b);
    apply_known(stream, links, cells, b.together);
    apply_pressure(stream, links, cells, model, b.together);
    apply_convective(stream, links, cells, b);
    apply_held(stream, links, cells, b);
    apply_interpolated(stream, links, cells, b.together);
  }

  void loads(Together& together, std::span<const LoadLink> links, const std::array<double, 3>& corner,
             const BlockArrays& b, double* sums) const override {
    add_loads(together, links, corner, Cells(b), sums);
  }

  void step_boundary(Stream& stream, const BlockArrays& b, const Model& model) const override {
    is_plain(model) ? MomentSteps<S, true>::step_boundary(stream, b, model)
                    : MomentSteps<S, false>::step_boundary(stream, b, model);
  }

  void rest_solids(Stream& stream, const BlockArrays& b) const override {
    launch(stream, Box{{0, 0, 0}, b.flags.shape.extent},
           RestSolidsByMoments<S>{Cells(b), Scalars<const std::uint8_t>(b.flags)});
  }

  void rearrange(Stream&, const BlockArrays&, Form, std::byte*) const override { unused("another form"); }
  void transcribe(Stream&, const BlockArrays&, const BlockArrays&) const override { unused("packed blocks"); }
  void place_links(Stream&, std::span<const Link>, const BlockArrays&, Bounce*) const override { unused("places"); }

 private:
  static bool is_plain(const Model& model) { return !model.forced() && !model.smagorinsky; }
  [[noreturn]] static void unused(const std::string& what) {
    throw Error(ErrorCode::internal, "moments know no " + what + ": lbm::check and Keeping see to that");
  }
};

}  // namespace slipstream::lbm

#pragma once
// The kernels of one number format that hold ten moments a cell.
#include <vector>

#include "solver/lbm/by_moments/march.hpp"
#include "solver/lbm/by_moments/rows.hpp"
#include "solver/lbm/by_moments/start.hpp"
#include "solver/lbm/by_moments/step.hpp"
#include "solver/lbm/step/cell_kernels.hpp"

namespace slipstream::lbm {

template <class S>
class MomentKernelsOf final : public CellKernels<MomentCells<S>> {
  using CellKernels<MomentCells<S>>::half;
  using T = typename S::Number;
  using Word = typename S::Word;
  using Cells = MomentCells<S>;

 public:
  bool knows_walls(bool, Layout) const override { return true; }

  void start(Stream& stream, const Box& box, const BlockArrays& b, const Model& model) const override {
    launch(stream, box,
           RestByMoments<S>{
               Cells(b), Scalars<const std::uint8_t>(b.flags), {half(model, 0), half(model, 1), half(model, 2)}});
  }

  void start_from(Stream& stream, const Box& box, const BlockArrays& b, const Model& model,
                  const FlowValues& flow) const override {
    launch(stream, box, StartByMoments<S>{Cells(b), Scalars<const std::uint8_t>(b.flags), GivenFlow(flow, model)});
  }

  void stream_collide(Stream& stream, const Box& box, const BlockArrays& b, Layout, const Model& model) const override {
    with_collision(model, [&](const auto& collision) {
      const auto step = step_of(b, collision);
      // A team goes up along z in rows of some length, or it is not worth its memory.
      if (stream.device().backend == Backend::host) {
        if (box.extent(0) < 8 || box.extent(2) < 2) return launch_on_host(stream, box, step);
        launch_rows(stream, box, step, b.tile[1], b.chunk);
        // Its loops know no walls.
        for (const Box& slab : beside_walls(box, b)) launch_on_host(stream, slab, step);
        return;
      }
      if (box.extent(0) >= 32 && box.extent(1) >= 4 && box.extent(2) >= 4)
        return launch_march(stream, box, step, b.tile[0], b.chunk);
      b.together ? b.together->add_on_gpu(box, step) : launch_on_gpu(stream, box, step);
    });
  }

  void apply_links(Stream& stream, const LinkSpans& links, const BlockArrays& b, const Model& model) const override {
    launch_per_link(stream, b.boundary.list.size(), GatherArrivals<S>{Cells(b), b.boundary.list.data()}, b.together);
    if (b.together) b.together->launch();  // links complete what was gathered
    CellKernels<Cells>::apply_links(stream, links, b, model);
  }

  void step_boundary(Stream& stream, const BlockArrays& b, const Model& model) const override {
    with_collision(model, [&]<class Collision>(const Collision& collision) {
      const StepBoundary<S, Collision> step{step_of(b, collision), b.boundary.list.data()};
      if (stream.device().backend == Backend::host || b.together)
        return launch_per_link(stream, b.boundary.list.size(), step, b.together);
      const StepBoundaryByTeams<S, Collision> teams{step, static_cast<std::int64_t>(b.boundary.list.size())};
      launch_teams_on_gpu(stream, teams.teams(), teams.threads, teams.shared_bytes, teams);
    });
  }

  void rest_solids(Stream& stream, const BlockArrays& b) const override {
    launch(stream, Box{{0, 0, 0}, b.flags.shape.extent},
           RestSolidsByMoments<S>{Cells(b), Scalars<const std::uint8_t>(b.flags)});
  }

  void rearrange(Stream&, const BlockArrays&, Form, std::byte*) const override { unused("another form"); }
  void transcribe(Stream&, const BlockArrays&, const BlockArrays&) const override { unused("packed blocks"); }
  void place_links(Stream&, std::span<const Link>, const BlockArrays&, Bounce*) const override { unused("places"); }

 private:
  template <class Collision>
  static StepCells<S, Collision> step_of(const BlockArrays& b, const Collision& collision) {
    return {Cells(b), reinterpret_cast<Word*>(b.populations_out.origin), collision,
            b.has_solids && b.skip_solids ? Scalars<const std::uint8_t>(b.flags) : Scalars<const std::uint8_t>()};
  }
  /// Cells of a box beside walls that the step knows.
  static std::vector<Box> beside_walls(const Box& box, const BlockArrays& b) {
    std::vector<Box> slabs;
    for (int side = 0; side < 6; ++side) {
      const int a = side / 2;
      Box slab = box;
      side % 2 == 0 ? slab.hi[a] = std::min<std::int64_t>(box.hi[a], 1)
                    : slab.lo[a] = std::max(box.lo[a], b.flags.shape.extent[a] - 1);
      if ((b.walls >> side & 1u) != 0 && !slab.empty()) slabs.push_back(slab);
    }
    return slabs;
  }
  template <class F>
  static void with_collision(const Model& model, const F& f) {
    const bool plain = !model.forced() && !model.smagorinsky, recursive = model.collision == Collision::recursive;
    if (plain) return recursive ? f(Regularised<T, true, true>(model)) : f(Regularised<T, true, false>(model));
    recursive ? f(Regularised<T, false, true>(model)) : f(Regularised<T, false, false>(model));
  }
  [[noreturn]] static void unused(const std::string& what) {
    throw Error("moments know no " + what + ": lbm::check and Keeping see to that");
  }
};

}  // namespace slipstream::lbm

#pragma once
// Advance of cells by a step in the moment representation, for one number format.
#include <vector>

#include "solver/lbm/by_moments/march.hpp"
#include "solver/lbm/by_moments/rows.hpp"
#include "solver/lbm/by_moments/step.hpp"
#include "solver/lbm/links/link_kernels.hpp"

namespace slipstream::lbm {

template <bool plain, class T, class F>
void with_regularised(const Model& model, const F& f) {
  model.collision == Collision::recursive ? f(Regularised<T, plain, true>(model))
                                          : f(Regularised<T, plain, false>(model));
}

template <class S, class Collision>
StepCells<S, Collision> step_of(const BlockArrays& b, const Collision& collision) {
  return {MomentCells<S>(b), reinterpret_cast<typename S::Word*>(b.populations_out.origin), collision,
          b.has_solids && b.skip_solids ? Scalars<const std::uint8_t>(b.flags) : Scalars<const std::uint8_t>()};
}

/// Slabs of a box, one cell thick, next to walls that the step handles without links.
inline std::vector<Box> near_walls(const Box& box, const BlockArrays& b) {
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

/// Steps with a collision model. `plain`: without force and LES model.
template <class S, bool plain>
struct MomentSteps {
  static void stream_collide(Stream& stream, const Box& box, const BlockArrays& b, const Model& model);
  static void step_boundary(Stream& stream, const BlockArrays& b, const Model& model);
};

template <class S, bool plain>
void MomentSteps<S, plain>::stream_collide(Stream& stream, const Box& box, const BlockArrays& b, const Model& model) {
  with_regularised<plain, typename S::Number>(model, [&](const auto& collision) {
    const auto step = step_of<S>(b, collision);
    const auto cells = step_of<S>(b, MomentCollision<typename S::Number, plain>(model));
    // Marching along z, plane by plane, is faster only for boxes with rows of some length.
    if (stream.device().backend == Backend::host) {
      if (box.extent(0) < 8 || box.extent(2) < 2) return launch_on_host(stream, box, cells);
      launch_rows(stream, box, step, b.tile[1], b.chunk);
      // The loops of launch_rows() do not handle walls, so cells next to walls are computed again.
      for (const Box& slab : near_walls(box, b)) launch_on_host(stream, slab, cells);
      return;
    }
    if (box.extent(0) >= 32 && box.extent(1) >= 4 && box.extent(2) >= 4)
      return launch_march(stream, box, step, b.tile[0], b.chunk);
    b.together ? b.together->add_on_gpu(box, cells) : launch_on_gpu(stream, box, cells);
  });
}

template <class S, bool plain>
void MomentSteps<S, plain>::step_boundary(Stream& stream, const BlockArrays& b, const Model& model) {
  using Collision = MomentCollision<typename S::Number, plain>;
  const StepBoundary<S, Collision> step{step_of<S>(b, Collision(model)), b.boundary.list.data()};
  const auto count = static_cast<std::int64_t>(b.boundary.list.size());
  if (stream.device().backend == Backend::host) {
    const PerLink<StepBoundary<S, Collision>> cells{step, count};
    return launch_on_host(stream, cells.rows(), cells);
  }
  const StepBoundaryByTeams<S, Collision> teams{step, count};
  b.together ? b.together->add_teams_on_gpu(teams.teams(), teams.threads, teams.shared_bytes, teams)
             : launch_teams_on_gpu(stream, teams.teams(), teams.threads, teams.shared_bytes, teams);
}

}  // namespace slipstream::lbm

#pragma once
// The kernels of one lattice and number format, as functors for both backends.
#include "device/together.hpp"
#include "solver/lbm/collision/trt.hpp"
#include "solver/lbm/energy.hpp"
#include "solver/lbm/link_kernels.hpp"
#include "solver/lbm/readings.hpp"
#include "solver/lbm/rearrange.hpp"
#include "solver/lbm/start.hpp"
#include "solver/lbm/stream_collide_groups.hpp"
#include "solver/lbm/stream_collide_packed.hpp"
#include "solver/row_faults.hpp"

namespace slipstream::lbm {

/// Whether a step can know resting walls: by one array it touches the ghosts beside them in any case, and groups of
/// four cells have no registers left for it.
template <class S>
constexpr bool step_knows_walls(bool in_place) {
  return !in_place && sizeof(typename S::Word) >= 4;
}

/// The step by a model that is not plain; written in collide_by_model.hpp and instantiated in files of its own.
template <class L, class S>
void collide_by_model(Stream& stream, const Box& box, const BlockArrays& block, Layout layout, const Model& model);

template <class L, class S>
class KernelsOf final : public Kernels {
  using T = typename S::Number;
  using Word = typename S::Word;

 public:
  bool knows_walls(bool in_place, Layout layout) const override {
    return step_knows_walls<S>(in_place) && layout != Layout::aos;
  }

  void start(Stream& stream, const Box& box, const BlockArrays& b, const Model& model) const override {
    launch(stream, box,
           Rest<L, S>{reinterpret_cast<Word*>(b.populations.origin),
                      Places(b),
                      Scalars<const std::uint8_t>(b.flags),
                      {half(model, 0), half(model, 1), half(model, 2)}});
  }

  void start_from(Stream& stream, const Box& box, const BlockArrays& b, const Model& model,
                  const FlowValues& flow) const override {
    const double constant = model.smagorinsky.value_or(0), *f = model.force.data();
    launch(stream, box,
           StartFlow<L, S>{reinterpret_cast<Word*>(b.populations.origin),
                           Places(b),
                           Scalars<const std::uint8_t>(b.flags),
                           flow,
                           3 * model.viscosity + 0.5,
                           3 * constant * constant,
                           {0.5 * f[0], 0.5 * f[1], 0.5 * f[2]}});
  }

  void stream_collide(Stream& stream, const Box& box, const BlockArrays& b, Layout layout,
                      const Model& model) const override {
    if (!model.plain()) return collide_by_model<L, S>(stream, box, b, layout, model);
    b.form == Form::apart ? collide_plainly<false>(stream, box, b, layout, model)
                          : collide_plainly<true>(stream, box, b, layout, model);
  }

  void rearrange(Stream& stream, const BlockArrays& b, Form to, std::byte* spare) const override {
    for (int i = 1; i < L::q; i += 2) rearrange_pair(stream, b, to, heading_of<L>(i), reinterpret_cast<Word*>(spare));
  }

  void transcribe(Stream& stream, const BlockArrays& from, const BlockArrays& to) const override {
    launch(stream, Box{{0, 0, 0}, from.flags.shape.extent},
           Transcribe<L, Word>{reinterpret_cast<const Word*>(from.populations.origin),
                               reinterpret_cast<Word*>(to.populations.origin), Places(from), Places(to),
                               Scalars<const std::uint8_t>(from.flags)});
  }

  void rest_solids(Stream& stream, const BlockArrays& b) const override {
    launch(stream, Box{{0, 0, 0}, b.flags.shape.extent},
           RestSolids<L, Word>{reinterpret_cast<Word*>(b.populations.origin), Places(b),
                               Scalars<const std::uint8_t>(b.flags)});
  }

  void place_links(Stream& stream, std::span<const Link> links, const BlockArrays& b, Bounce* places) const override {
    const Form form = b.form == Form::apart ? Form::apart : Form::shared;
    launch_per_link(stream, links.size(),
                    PlaceLinks{Places(b, form), b.populations.shape.origin, links.data(), places});
  }

  void apply_links(Stream& stream, const LinkSpans& links, const BlockArrays& b, const Model& model) const override {
    Word* const origin = reinterpret_cast<Word*>(b.populations.origin);
    const Places places(b);
    const auto apply = [&](std::size_t count, const auto& work) { launch_per_link(stream, count, work, b.together); };
    apply(links.added.size(), Added<S>{origin, places, links.added.data()});
    apply(links.half_way.size(), HalfWay<S>{origin, places, links.half_way.data()});
    apply(links.resting.size(),
          Rebound<Word>{origin - b.populations.shape.origin, links.resting.data(), b.form == Form::turned});
    apply(links.weighted.size(), Weighted<S>{origin, places, links.weighted.data()});
    apply(links.pressure.size(),
          Pressure<L, S>{origin, places, {half(model, 0), half(model, 1), half(model, 2)}, links.pressure.data()});
    if (links.convective.empty()) return;
    apply(links.convective.size(),
          Convective<S>{origin, places, Scalars<const T>(b.outlet.before), Scalars<T>(b.outlet.after), b.outlet.axis,
                        b.outlet.first, links.convective.data()});
    apply(links.held.size(), Held<L, S>{origin, places, Scalars<T>(b.outlet.after), b.outlet.axis, links.held.data()});
  }

  void loads(Together& together, std::span<const LoadLink> links, const std::array<double, 3>& corner,
             const BlockArrays& b, double* sums) const override {
    together.add_teams(load_teams(links.size()), load_threads, 6 * load_threads * sizeof(double),
                       Loads<S>{reinterpret_cast<const Word*>(b.populations.origin),
                                Places(b),
                                links.data(),
                                static_cast<std::int64_t>(links.size()),
                                {corner[0], corner[1], corner[2]},
                                sums});
  }

  void macroscopic(Together& together, const Box& box, const BlockArrays& b, const Model& model,
                   double* change) const override {
    const CellRows rows(box, b.populations.shape.row_axis);
    together.add_teams(rows.count(), row_threads, row_threads * sizeof(double),
                       Macroscopic<L, S>{cells(b),
                                         Scalars<T>(b.velocity),
                                         Scalars<T>(b.density),
                                         Scalars<const std::uint8_t>(b.flags),
                                         rows,
                                         {half(model, 0), half(model, 1), half(model, 2)},
                                         change});
  }

  void excess_mass(Together& together, const Box& box, const BlockArrays& b, double* sum) const override {
    const CellRows rows(box, b.populations.shape.row_axis);
    together.add_teams(rows.count(), row_threads, row_threads * sizeof(double),
                       ExcessMass<L, S>{cells(b), Scalars<const std::uint8_t>(b.flags), rows, sum});
  }

  void energy(Together& together, const Box& box, const BlockArrays& b, const Model& model,
              double* sums) const override {
    const Force<T> force{static_cast<T>(model.force[0]), static_cast<T>(model.force[1]),
                         static_cast<T>(model.force[2])};
    const CellRows rows(box, b.populations.shape.row_axis);
    together.add_teams(rows.count(), row_threads, 2 * row_threads * sizeof(double),
                       EnergySums<L, S>{cells(b), Scalars<const std::uint8_t>(b.flags), rows, force, model.viscosity,
                                        model.smagorinsky.value_or(0), sums});
  }

  void inspect_density(Together& together, const BlockArrays& b, double lowest, double highest,
                       RowFinding* rows) const override {
    find_row_faults(together, rows_of(b.populations.shape),
                    DensityFaults<L, S>{cells(b), Scalars<const std::uint8_t>(b.flags), lowest, highest}, rows);
  }

 private:
  template <bool in_place>
  static void collide_plainly(Stream& stream, const Box& box, const BlockArrays& b, Layout layout, const Model& model) {
    using Raw = typename S::Raw;
    const Trt<L, T, Raw::unit> collision(model.plus, model.minus);
    if (b.numbering.words != nullptr) return launch_packed_step<L, Raw, in_place>(stream, b, collision);
    if (b.together) return collide_together<in_place>(stream, box, b, collision);
    if constexpr (L::dimensions == 3)
      if (layout == Layout::soa_z)
        return collide_rows<AlongZ<L>, in_place>(stream, along_z(box), along_z(b), Layout::soa, collision);
    collide_rows<L, in_place>(stream, box, b, layout, collision);
  }

  /// By the kernels that suit any layout and any block.
  template <bool in_place, class Collision>
  static void collide_together(Stream& stream, const Box& box, const BlockArrays& b, const Collision& collision) {
    using Raw = typename S::Raw;
    if constexpr (step_knows_walls<S>(in_place))
      if (b.walls != 0)
        return launch_step<L, Raw, Strides::any, AtSolids::leave, Sides::walls, in_place>(stream, box, b, collision);
    launch_step<L, Raw, Strides::any, AtSolids::leave, Sides::wrap, in_place>(stream, box, b, collision);
  }

  /// `M`: the lattice as memory sees it.
  template <class M, bool in_place, class Collision>
  static void collide_rows(Stream& stream, const Box& box, const BlockArrays& b, Layout layout,
                           const Collision& collision) {
    using Raw = typename S::Raw;
    using enum Sides;
    constexpr AtSolids none = AtSolids::none, rest = AtSolids::rest, keep = AtSolids::keep, leave = AtSolids::leave;
    constexpr Strides soa = Strides::soa, aos = Strides::aos, any = Strides::any;
    const auto run = [&]<Strides strides, AtSolids solids, Sides sides>() {
      // Nobody puts cells at rest on a GPU.
      if constexpr (strides != aos && solids != rest)
        if (layout != Layout::aos && launch_groups<M, Raw, solids, sides, in_place>(stream, box, b, collision)) return;
      launch_step<M, Raw, strides, solids, sides, in_place>(stream, box, b, collision);
    };
    const auto step = [&]<Strides strides, Sides sides>() {
      b.has_solids ? run.template operator()<strides, rest, sides>() : run.template operator()<strides, none, sides>();
    };
    const auto step_leaving = [&]<Sides sides>() {
      b.skip_solids ? run.template operator()<any, leave, sides>() : run.template operator()<any, keep, sides>();
    };
    const bool knows_walls = b.walls != 0;
    if (b.has_solids && b.leave_solids) {
      if constexpr (step_knows_walls<S>(in_place))
        if (knows_walls) return step_leaving.template operator()<walls>();
      step_leaving.template operator()<wrap>();
    } else if (layout == Layout::aos) {
      if constexpr (std::is_same_v<M, L>) step.template operator()<aos, open>();
    } else if (b.wrap.extent[0] == 0 && !knows_walls) {
      step.template operator()<soa, open>();
    } else {
      if constexpr (step_knows_walls<S>(in_place))
        if (knows_walls) return step.template operator()<soa, walls>();
      step.template operator()<soa, wrap>();
    }
  }

  static Cells<L, S> cells(const BlockArrays& b) {
    return {reinterpret_cast<const Word*>(b.populations.origin), Places(b)};
  }
  static T half(const Model& model, int axis) { return static_cast<T>(0.5 * model.force[axis]); }
};

}  // namespace slipstream::lbm

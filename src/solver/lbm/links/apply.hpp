#pragma once
// Launches the kernels of lattice Boltzmann boundary links, for populations or moments as the state.
#include <array>
#include <span>

#include "solver/lbm/links/link_kernels.hpp"

namespace slipstream::lbm {

template <class Cells>
void apply_known(Stream& stream, const LinkSpans& links, const Cells& cells, Together* together) {
  launch_per_link(stream, links.added.size(), Added<Cells>{cells, links.added.data()}, together);
  launch_per_link(stream, links.half_way.size(), HalfWay<Cells>{cells, links.half_way.data()}, together);
  launch_per_link(stream, links.copied.size(), Copied<Cells>{cells, links.copied.data()}, together);
}

template <class Cells>
void apply_pressure(Stream& stream, const LinkSpans& links, const Cells& cells, const Model& model,
                    Together* together) {
  using T = typename Cells::Number;
  const auto half = [&](int axis) { return static_cast<T>(0.5 * model.force[axis]); };
  launch_per_link(stream, links.pressure.size(),
                  Pressure<Cells>{cells, {half(0), half(1), half(2)}, links.pressure.data()}, together);
}

template <class Cells>
void apply_convective(Stream& stream, const LinkSpans& links, const Cells& cells, const BlockArrays& b) {
  using T = typename Cells::Number;
  launch_per_link(stream, links.convective.size(),
                  Convective<Cells>{cells, Scalars<const T>(b.outlet.before), Scalars<T>(b.outlet.after), b.outlet.axis,
                                    b.outlet.first, links.convective.data()},
                  b.together);
}

template <class Cells>
void apply_held(Stream& stream, const LinkSpans& links, const Cells& cells, const BlockArrays& b) {
  using T = typename Cells::Number;
  launch_per_link(stream, links.held.size(),
                  Held<Cells>{cells, Scalars<T>(b.outlet.after), b.outlet.axis, links.held.data()}, b.together);
}

template <class Cells>
void apply_interpolated(Stream& stream, const LinkSpans& links, const Cells& cells, Together* together) {
  launch_per_link(stream, links.interpolated.size(),
                  Interpolated<Cells>{cells, links.interpolated.data(), links.shares, links.keep_mass}, together);
}

template <class Cells>
void add_loads(Together& together, std::span<const LoadLink> links, const std::array<double, 3>& corner,
               const Cells& cells, double* sums) {
  together.add_teams(
      load_teams(links.size()), load_threads, 6 * load_threads * sizeof(double),
      Loads<Cells>{
          cells, links.data(), static_cast<std::int64_t>(links.size()), {corner[0], corner[1], corner[2]}, sums});
}

}  // namespace slipstream::lbm

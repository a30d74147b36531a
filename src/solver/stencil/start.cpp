// Start of waves: computes u one time step before.
#include <algorithm>
#include <cstdlib>

#include <slipstream/error.hpp>

#include "solver/stencil/impl.hpp"

namespace slipstream::stencil {
namespace {

std::vector<double> asked(const Values& values, const Box& box) {
  std::vector<double> given = values(box);
  require(static_cast<std::int64_t>(given.size()) == box.volume(), ErrorCode::mismatch,
          "the values at the start are " + std::to_string(given.size()) + " for a box of " +
              std::to_string(box.volume()) + " cells",
          {{"given", given.size()}, {"needed", box.volume()}});
  return given;
}

}  // namespace

std::vector<double> Stencil::Impl::differences(const Values& u, const Box& box) const {
  std::vector<double> sum(static_cast<std::size_t>(box.volume()), 0.0);
  const Extent all = box.extents();
  const std::int64_t strides[3] = {1, all[0], all[0] * all[1]}, reach = radius(options);
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t low = box.lo[axis], high = box.hi[axis], cells = options.cells[axis];
    if (cells == 1) continue;
    // Start values are asked once for each layer of cells, and their terms added to all layers in the stencil's reach.
    for (std::int64_t at = low - reach; at < high + reach; ++at) {
      const Mirrored from = options.periodic[axis]
                                ? Mirrored{static_cast<int>((at + cells) % cells), 1}
                                : mirrored(static_cast<int>(at), static_cast<int>(cells), numbers.even[axis]);
      if (from.sign == 0) continue;
      Box layer = box;
      layer.lo[axis] = from.cell;
      layer.hi[axis] = from.cell + 1;
      const std::vector<double> values = asked(u, layer);
      for (std::int64_t to = std::max(low, at - reach); to < std::min(high, at + reach + 1); ++to) {
        const auto distance = static_cast<std::size_t>(std::abs(to - at));
        const double weight = from.sign * numbers.star.of[distance] / (distance == 0 ? 3 : 1);
        std::size_t n = 0;
        for (std::int64_t k = 0; k < layer.extent(2); ++k)
          for (std::int64_t j = 0; j < layer.extent(1); ++j)
            for (std::int64_t i = 0; i < layer.extent(0); ++i, ++n)
              sum[static_cast<std::size_t>(i + j * strides[1] + k * strides[2] + (to - low) * strides[axis])] +=
                  weight * values[n];
      }
    }
  }
  return sum;
}

double Stencil::Impl::damping_at(const Extent& cell) const {
  double squares = 0;
  for (int a = 0; a < 3; ++a) {
    if (options.periodic[a] || options.cells[a] == 1) continue;
    const double depth = layer_depth(static_cast<int>(cell[a]), static_cast<int>(options.cells[a]),
                                     numbers.layers[a][0], numbers.layers[a][1]);
    squares += depth * depth;
  }
  return numbers.damping * squares;
}

/// The series is u - dt du/dt + dt^2 / 2 (c^2 Lap u - sigma du/dt). A shorter one would reduce the scheme to first
/// order.
std::vector<double> Stencil::Impl::before_start(const Values& u, const Values& rate, const Box& box) const {
  std::vector<double> before = asked(u, box);
  const std::vector<double> rates = rate ? asked(rate, box) : std::vector<double>(before.size(), 0.0),
                            speeds = options.speeds ? asked(options.speeds, box)
                                                    : std::vector<double>(before.size(), options.speed),
                            laplacian = differences(u, box);
  std::size_t n = 0;
  for (std::int64_t k = box.lo[2]; k < box.hi[2]; ++k)
    for (std::int64_t j = box.lo[1]; j < box.hi[1]; ++j)
      for (std::int64_t i = box.lo[0]; i < box.hi[0]; ++i, ++n) {
        const double courant = speeds[n] * options.time_step / options.spacing;
        before[n] +=
            0.5 * courant * courant * laplacian[n] - (1 + damping_at({i, j, k})) * options.time_step * rates[n];
      }
  return before;
}

void Stencil::start_from(const Values& u, const Values& before) {
  Impl& s = *impl_;
  if (s.options.equation == Equation::wave && !before) return start_moving(u, {});
  s.set(s.now(), u);
  if (s.options.equation == Equation::wave) s.set(s.other(), before);
  ++s.state.restarts;
}

void Stencil::start_moving(const Values& u, const Values& rate) {
  Impl& s = *impl_;
  require(s.options.equation == Equation::wave, ErrorCode::unsupported,
          "a rate at the start belongs to the wave equation", {{"option", "rate"}});
  start_from(u, [&](const Box& box) { return s.before_start(u, rate, box); });
}

}  // namespace slipstream::stencil

#include "solver/stencil/keys.hpp"

namespace slipstream::stencil {
namespace {

using namespace key_values;

template <class Numbers>
KeyValues only(const Numbers& numbers) {
  return integers({std::begin(numbers), std::end(numbers)});
}

}  // namespace

std::vector<CaseTable> case_tables() {
  const Options usual;
  const auto left_out = std::monostate{};
  CaseTable table{
      "stencil", "the equation and how it is computed. Lengths and times are in any units that fit together.", {}};
  table.keys = {
      {"equation", {names_of(equations)}, {}, "", "du/dt = diffusivity Lap u, or d2u/dt2 = speed^2 Lap u by leapfrog."},
      {"time",
       {names_of(schemes)},
       name_in(schemes, usual.scheme),
       "",
       "heat: explicit Euler, whose step has a limit; or by a linear system a step, without one: of order 1, or of "
       "order "
       "2, where what is rough oscillates with steps far above that limit."},
      {"points",
       {only(point_counts)},
       std::int64_t{usual.points},
       "",
       "heat: of the stencil in three dimensions; 27 is the isotropic one."},
      {"order",
       {only(orders)},
       std::int64_t{usual.order},
       "-",
       "wave: in space, central differences of radius order / 2."},
      {"precision", {names_of(precisions)}, name_in(precisions, usual.precision), "", "Number format."},
      {"spacing", {number_above(0)}, usual.spacing, "length", "Edge of a cell."},
      {"time_step",
       {number_above(0)},
       left_out,
       "time",
       "Step in time. Left out: 0.9 of the largest that is stable; implicit steps want it given."},
      {"diffusivity", {number_above(0)}, usual.diffusivity, "length^2 / time", "heat: in spacing^2 a unit of time."},
      {"speed",
       {or_expression(number_above(0))},
       usual.speed,
       "length / time",
       "wave: in lengths a unit of time. A number, or an expression in x, y, z (centres of cells, from the box's low "
       "corner) and the sides Lx, Ly, Lz."},
      {"sides",
       {names_of(kinds_of_sides)},
       name_in(kinds_of_sides, usual.sides.of[0][0]),
       "",
       "Sides that are neither periodic nor in [boundaries]: u = 0 at the centres of the first cells beyond, or du/dn "
       "= "
       "0 at the faces of the outermost cells (heat: insulated, wave: free)."},
      {"absorbing",
       {integer_from(0)},
       std::int64_t{usual.absorbing},
       "cells",
       "wave: layers of cells in front of fixed sides that damp waves; take as many as two waves hold."},
      {"steps_per_exchange",
       {integer_from(1), names({"auto"})},
       std::int64_t{usual.steps_per_exchange},
       "steps",
       "Ghosts so many times as wide, and an exchange after so many steps; auto: the fastest by measurement. The same "
       "bits."},
      {"tolerance",
       {number_above(0)},
       left_out,
       "-",
       "implicit: conjugate gradients end at this residual over the right side. Left out: 1e-10, with f32 1e-7."},
      {"absolute_tolerance",
       {number_from(0)},
       usual.krylov.absolute_tolerance,
       "u",
       "implicit: they also end where the root of the residual's sum of squares over the cells is at most this, in "
       "units "
       "of u."},
      {"most_iterations",
       {integer_from(1)},
       std::int64_t{usual.krylov.most_iterations},
       "iterations",
       "implicit: of conjugate gradients a step."},
      {"not_converged",
       {names({"stop", "go on"})},
       "stop",
       "",
       "implicit: what becomes of a run whose conjugate gradients do not reach the tolerance."},
  };
  return {table};
}

}  // namespace slipstream::stencil

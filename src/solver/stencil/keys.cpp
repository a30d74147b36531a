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
  CaseTable table{"stencil", "the equation and its discretisation. Lengths and times are in any consistent units.", {}};
  table.keys = {
      {"equation", {names_of(equations)}, {}, "", "du/dt = diffusivity Lap u, or d2u/dt2 = speed^2 Lap u by leapfrog."},
      {"time",
       {names_of(schemes)},
       name_in(schemes, usual.scheme),
       "",
       "heat: explicit Euler, implicit Euler of order 1, or Crank-Nicolson of order 2. The step of explicit Euler "
       "has a limit. The implicit methods have none, but solve a linear system per step. With steps far above that "
       "limit, Crank-Nicolson makes rough data oscillate."},
      {"points",
       {only(point_counts)},
       std::int64_t{usual.points},
       "",
       "heat: number of points of the stencil in three dimensions; 27 is the isotropic stencil."},
      {"order",
       {only(orders)},
       std::int64_t{usual.order},
       "-",
       "wave: order of the central differences in space; their radius is order / 2."},
      {"precision", {names_of(precisions)}, name_in(precisions, usual.precision), "", "Number format."},
      {"spacing", {number_above(0)}, usual.spacing, "length", "Edge of a cell."},
      {"time_step",
       {number_above(0)},
       left_out,
       "time",
       "Time step. Left out: 0.9 of the largest stable step; required for implicit methods."},
      {"diffusivity",
       {number_above(0)},
       usual.diffusivity,
       "length^2 / time",
       "heat: diffusivity, in spacing^2 per unit of time."},
      {"speed",
       {or_expression(number_above(0))},
       usual.speed,
       "length / time",
       "wave: speed of waves, in lengths per unit of time. A number, or an expression in x, y, z (centres of cells, "
       "from the box's low corner) and the sides Lx, Ly, Lz."},
      {"sides",
       {names_of(kinds_of_sides)},
       name_in(kinds_of_sides, usual.sides.of[0][0]),
       "",
       "Condition on sides that are neither periodic nor in [boundaries]. fixed: u = 0 at the centres of the first "
       "cells beyond the side. insulated (heat) and free (wave): du/dn = 0 at the faces of the outermost cells."},
      {"absorbing",
       {integer_from(0)},
       std::int64_t{usual.absorbing},
       "cells",
       "wave: layers of cells in front of fixed sides that damp waves; two wavelengths are enough."},
      {"steps_per_exchange",
       {integer_from(1), names({"auto"})},
       std::int64_t{usual.steps_per_exchange},
       "steps",
       "Steps per exchange, with ghost layers for as many steps; auto: the fastest by measurement. All give the "
       "same bits."},
      {"tolerance",
       {number_above(0)},
       left_out,
       "-",
       "implicit: the solver ends when the norm of the residual is at most this fraction of that of the right side. "
       "Left out: 1e-10, with f32 1e-7."},
      {"absolute_tolerance",
       {number_from(0)},
       usual.krylov.absolute_tolerance,
       "u",
       "implicit: the solver also ends when the root of the sum of squared residuals is at most this, in units of u."},
      {"most_iterations",
       {integer_from(1)},
       std::int64_t{usual.krylov.most_iterations},
       "iterations",
       "implicit: largest number of iterations of conjugate gradients per step."},
      {"not_converged",
       {names({"stop", "go on"})},
       "stop",
       "",
       "implicit: whether a run stops or goes on if conjugate gradients do not reach the tolerance."},
  };
  return {table};
}

}  // namespace slipstream::stencil

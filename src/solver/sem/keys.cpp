#include "solver/sem/keys.hpp"

#include "solver/krylov/vector_kernels.hpp"

namespace slipstream::sem {
namespace {

using namespace key_values;

constexpr auto left_out = std::monostate{};
/// Names that an expression in a case file may use: coordinates alone, or coordinates and the time.
const std::string of_places = " in x, y, z (from the box's low corner), the sides Lx, Ly, Lz",
                  number_or = "A number, or an expression" + of_places,
                  numbers_or = "Numbers, or expressions" + of_places,
                  number_at = number_or + " and, of diffusion, the time t", numbers_at = numbers_or + " and the time t";

KeyValues three_expressions() { return several(3, or_expression(number())); }
KeyValues vectors_from(double least) { return up_to(krylov::most_vectors - 1, integer_from(least)); }

Key time_order_key(int usual, const char* meaning) {
  return {"time_order", {integers({std::begin(time_orders), std::end(time_orders)})}, std::int64_t{usual}, "", meaning};
}
Key start_key(const char* meaning) { return {"start", {names({"lower", "exact"})}, "lower", "", meaning}; }
Key method_key(krylov::Method usual, const char* meaning) {
  return {"method", {names_of(methods)}, name_in(methods, usual), "", meaning};
}
Key restart_key(int usual, const char* meaning) {
  return {"restart", {vectors_from(1)}, std::int64_t{usual}, "iterations", meaning};
}
Key projection_key(int usual, const char* meaning) {
  return {"projection", {vectors_from(0)}, std::int64_t{usual}, "solutions", meaning};
}
Key degree_key(const char* meaning) { return {"degree", {integer_from(1)}, left_out, "-", meaning}; }
Key most_iterations_key(int usual, const char* meaning) {
  return {"most_iterations", {integer_from(1)}, std::int64_t{usual}, "iterations", meaning};
}
Key not_converged_key(const char* meaning) {
  return {"not_converged", {names({"stop", "go on"})}, "stop", "", meaning};
}

CaseTable elements_table() {
  const Options usual;
  CaseTable table{"sem",
                  "the elements. [grid] has how many there are along x, y and z, and the periodic axes. Lengths and "
                  "times are in any units that fit together.",
                  {},
                  "elements"};
  table.keys = {
      {"order",
       {up_to(most_order, integer_from(least_order))},
       std::int64_t{usual.order},
       "-",
       "Of the polynomials in an element, 1 to 15."},
      {"lengths", {several(3, number_above(0))}, list_of(usual.lengths), "length", "Edges of the box."},
      {"stretch",
       {several(3, number_above(0))},
       list_of(usual.stretch),
       "-",
       "Width of the last element along an axis over the first's."},
      {"deformation",
       {number_from(0)},
       usual.deform,
       "-",
       "Amplitude of a sine map that bends the elements, as a share of the box; above 0.137 it folds."},
      {"map",
       {three_expressions()},
       left_out,
       "length",
       "Where the places of the box, stretched and deformed, are in truth: x, y and z. " + number_or +
           ". All other expressions have the mapped places."},
      {"factors",
       {names({"auto", to_string(Factors::stored), to_string(Factors::affine)})},
       "auto",
       "",
       "Geometric factors: at each point, 48 B; or six numbers an element, where elements are parallelepipeds. auto: "
       "affine where nothing is deformed or mapped."},
  };
  return table;
}

CaseTable solve_table() {
  const Scalar usual;
  CaseTable table{
      "sem", "coefficients, and how an unknown is solved for. A further scalar may have its own.", {}, "solve"};
  table.keys = {
      {"diffusivity",
       {or_expression(number_above(0))},
       usual.diffusivity,
       "length^2 / time",
       "In lengths squared a unit of time, above 0 everywhere. " + number_or + "."},
      {"reaction",
       {or_expression(number_from(0))},
       usual.reaction,
       "1 / length^2",
       "helmholtz: the factor of u, 0 or more everywhere. " + number_or + "."},
      {"tolerance",
       {number_above(0)},
       usual.krylov.tolerance,
       "-",
       "Conjugate gradients end at this residual over the right side of the change, which is free of a constant in the "
       "data."},
      {"absolute_tolerance",
       {number_from(0)},
       usual.krylov.absolute_tolerance,
       "u x length^3 / time",
       "They also end where the root of the residual's sum of squares over the points is at most this; a residual is "
       "an integral, in units of diffusivity times u times length."},
      most_iterations_key(usual.krylov.most_iterations, "Of conjugate gradients for a solution."),
      method_key(usual.solver.method, "Conjugate gradients, or restarted flexible GMRES."),
      restart_key(usual.solver.restart, "fgmres: iterations between restarts, 63 at most; each keeps two vectors."),
      projection_key(usual.solver.projection,
                     "diffusion: the first guess comes from the span of so many earlier solutions, too; 63 at most."),
      {"preconditioner",
       {names_of(preconditioners)},
       name_in(preconditioners, usual.solver.preconditioner),
       "",
       "The diagonal; Chebyshev's polynomial with it; or p-multigrid whose smoothers are Chebyshev polynomials in the "
       "diagonal (multigrid) or in overlapping Schwarz (schwarz)."},
      degree_key("Of Chebyshev's polynomials: chebyshev 4, multigrid 3, schwarz 2 where left out; more operators an "
                 "iteration, and fewer iterations."),
      not_converged_key("What becomes of a run whose conjugate gradients do not reach the tolerance."),
  };
  return table;
}

CaseTable scalars_table() {
  const Options usual;
  CaseTable table{"sem", "the equation and how it is computed.", {}, "sem", {"elements", "solve"}};
  table.keys = {
      {"equation",
       {names_of(equations)},
       {},
       "",
       "-diffusivity Lap u = source; the same with + reaction u on the left; or du/dt = diffusivity Lap u + source."},
      {"source", {or_expression(number())}, 0.0, "u / time", number_at + "."},
      {"velocity",
       {three_expressions()},
       left_out,
       "length / time",
       "diffusion: what carries u, along x, y and z: du/dt + velocity . grad u = ... " + number_at + "."},
      {"target_courant",
       {number_above(0)},
       left_out,
       "-",
       "With velocity: each time step is made in equal parts, as few as keep the Courant number at this."},
      {"time_step", {number_above(0)}, left_out, "time", "diffusion: the same all through."},
      time_order_key(usual.time_order, "diffusion: of the backward differences."),
      start_key(
          "diffusion: the first steps are of lower order, which leaves an error of order 2 in the time step; or of "
          "full order, from [exact] at the times before."),
  };
  return table;
}

CaseTable flow_table() {
  const FlowOptions usual;
  CaseTable table{"sem",
                  "with equation = \"navier_stokes\": du/dt + u . grad u = - grad p + viscosity Lap u + force, div u = "
                  "0.",
                  {},
                  "flow",
                  {"elements"}};
  std::vector<std::string> of_pressure;
  for (const auto& [name, value] : preconditioners)
    if (value != Preconditioner::chebyshev) of_pressure.emplace_back(name);
  table.keys = {
      {"equation", {names({"navier_stokes"})}, {}, "", "Of incompressible flow."},
      {"viscosity", {number_above(0)}, {}, "length^2 / time", "Kinematic, in lengths squared a unit of time."},
      {"force", {three_expressions()}, left_out, "length / time^2", "By mass, along x, y and z. " + numbers_at + "."},
      {"time_step",
       {number_above(0)},
       {},
       "time",
       "The same all through; with target_courant of what is made in parts."},
      time_order_key(usual.time_order, "Of the backward differences and of the extrapolation."),
      start_key(
          "The first steps are of lower order, which leaves an error of order 2 in the time step; or of full order, "
          "from [exact] at the times before."),
      {"target_courant",
       {number_above(0)},
       left_out,
       "-",
       "Each time step is made in equal parts, as few as keep the Courant number at this."},
      {"courant_limit",
       {number_above(0)},
       left_out,
       "-",
       "Courant number that ends the run. Left out: where advection by a uniform velocity begins to grow."},
      {"divergence_damping",
       {up_to(most_damping, number_from(0))},
       usual.divergence_damping,
       "steps",
       "Explicit steps that damp the divergence after each time step, which elements leave within themselves; 0: "
       "none."},
      {"filter",
       {number_from(0)},
       usual.filter,
       "1 / time",
       "Rate at which the highest modes are damped (a high-pass filter): du/dt = - filter (u - G u); 0: none."},
      {"filter_modes",
       {integer_from(1)},
       std::int64_t{usual.filter_modes},
       "modes",
       "Modes that the filter damps along each axis."},
      {"mean_from",
       {number_from(0)},
       left_out,
       "time",
       "From this time on, running means are kept: mean_velocity, mean_pressure, mean_squares (uu vv ww) and "
       "mean_products (uv uw vw), in fields.vtkhdf and checkpoints."},
      {"pressure_tolerance",
       {number_above(0)},
       usual.pressure_tolerance,
       "length / time^2",
       "The pressure's solution ends where the root of the residual's mean square is at most this: sqrt((r, r) / "
       "volume), r an integral."},
      {"velocity_tolerance",
       {number_above(0)},
       usual.velocity_tolerance,
       "length / time^2",
       "The same of each part of the velocity."},
      most_iterations_key(usual.most_iterations, "Of a solution."),
      method_key(usual.pressure.method, "Of the pressure: flexible conjugate gradients, or restarted flexible GMRES."),
      restart_key(usual.pressure.restart, "fgmres: iterations between restarts; each keeps two vectors."),
      projection_key(usual.pressure.projection,
                     "The pressure's first guess comes from the span of so many earlier solutions, too."),
      {"preconditioner",
       {names(of_pressure)},
       name_in(preconditioners, usual.pressure.preconditioner),
       "",
       "Of the pressure: the diagonal; or p-multigrid whose smoothers are Chebyshev polynomials in the diagonal "
       "(multigrid) or in overlapping Schwarz (schwarz)."},
      degree_key("Of Chebyshev's polynomials: multigrid 3, schwarz 2 where left out."),
      not_converged_key("What becomes of a run where a solution does not reach its tolerance."),
  };
  return table;
}

}  // namespace

Equation equation_from_string(const std::string& name) {
  return value_in(equations, name, "no equation of spectral elements is called", "equation");
}

std::string to_string(Factors factors) { return name_in(kinds_of_factors, factors); }

Factors factors_from_string(const std::string& name) {
  return value_in(kinds_of_factors, name, "no geometric factors are called", "factors");
}

Preconditioner preconditioner_from_string(const std::string& name) {
  return value_in(preconditioners, name, "no preconditioner is called", "preconditioner");
}

krylov::Method method_from_string(const std::string& name) {
  return value_in(methods, name, "no Krylov method is called", "method");
}

std::vector<CaseTable> case_tables() { return {elements_table(), solve_table(), scalars_table(), flow_table()}; }

}  // namespace slipstream::sem

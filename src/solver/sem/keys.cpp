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
                  "the elements; [grid] has their numbers along x, y and z, and the periodic axes. Lengths and "
                  "times are in any units that fit together.",
                  {},
                  "elements"};
  table.keys = {
      {"order",
       {up_to(most_order, integer_from(least_order))},
       std::int64_t{usual.order},
       "-",
       "Degree of the polynomials in an element, 1 to 15."},
      {"lengths", {several(3, number_above(0))}, list_of(usual.lengths), "length", "Edges of the box along x, y, z."},
      {"stretch",
       {several(3, number_above(0))},
       list_of(usual.stretch),
       "-",
       "Width of the last element along each axis, divided by that of the first."},
      {"deformation",
       {number_from(0)},
       usual.deform,
       "-",
       "Amplitude of a sine map that bends the elements, as a fraction of the box; above 0.137 elements fold."},
      {"map",
       {three_expressions()},
       left_out,
       "length",
       "Mapping of the box: new x, y and z of its points, after stretch and deformation. " + number_or +
           ". All other expressions use the mapped coordinates."},
      {"factors",
       {names({"auto", to_string(Factors::stored), to_string(Factors::affine)})},
       "auto",
       "",
       "Geometric factors: stored at each point, 48 bytes; or affine, six numbers for each element, which must be a "
       "parallelepiped. auto: affine unless elements are deformed or mapped."},
  };
  return table;
}

CaseTable solve_table() {
  const Scalar usual;
  CaseTable table{
      "sem", "coefficients and linear solver of an unknown; each further scalar may have its own.", {}, "solve"};
  table.keys = {
      {"diffusivity",
       {or_expression(number_above(0))},
       usual.diffusivity,
       "length^2 / time",
       "Diffusivity of the unknown, above 0 everywhere. " + number_or + "."},
      {"reaction",
       {or_expression(number_from(0))},
       usual.reaction,
       "1 / length^2",
       "helmholtz: coefficient of u, 0 or more everywhere. " + number_or + "."},
      {"tolerance",
       {number_above(0)},
       usual.krylov.tolerance,
       "-",
       "The solver ends when the norm of the residual is at most this fraction of that of the right side, without the "
       "part that constant data contribute."},
      {"absolute_tolerance",
       {number_from(0)},
       usual.krylov.absolute_tolerance,
       "u x length^3 / time",
       "The solver also ends when the root of the sum of squared residuals over the points is at most this; residuals "
       "are integrals, in units of diffusivity x u x length."},
      most_iterations_key(usual.krylov.most_iterations, "Largest number of iterations for each solution."),
      method_key(usual.solver.method, "Linear solver: conjugate gradients, or restarted flexible GMRES."),
      restart_key(usual.solver.restart, "fgmres: iterations between restarts, at most 63; each stores two vectors."),
      projection_key(usual.solver.projection,
                     "diffusion: number of earlier solutions onto which the initial guess is projected; at most 63."),
      {"preconditioner",
       {names_of(preconditioners)},
       name_in(preconditioners, usual.solver.preconditioner),
       "",
       "Jacobi; Chebyshev polynomials with Jacobi; or p-multigrid whose smoothers are Chebyshev polynomials with "
       "Jacobi "
       "(multigrid) or with overlapping Schwarz (schwarz)."},
      degree_key("Degree of the Chebyshev polynomials; left out: chebyshev 4, multigrid 3, schwarz 2. Higher degrees "
                 "need fewer iterations, which cost more."),
      not_converged_key("Whether a run stops or goes on if the linear solver does not reach the tolerance."),
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
       "poisson: -diffusivity Lap u = source; helmholtz: with + reaction u on the left; diffusion: du/dt = diffusivity "
       "Lap u + source."},
      {"source", {or_expression(number())}, 0.0, "u / time", "Source term of the equation. " + number_at + "."},
      {"velocity",
       {three_expressions()},
       left_out,
       "length / time",
       "diffusion: velocity that advects u: du/dt + velocity . grad u = ... " + number_at + "."},
      {"target_courant",
       {number_above(0)},
       left_out,
       "-",
       "With velocity: each time step has as many equal substeps as keep the Courant number below this."},
      {"time_step", {number_above(0)}, left_out, "time", "diffusion: the time step, which is constant."},
      time_order_key(usual.time_order, "diffusion: order of the backward differences."),
      start_key("diffusion: lower: the first steps have lower order, which leaves an error of order 2 in the time "
                "step; exact: "
                "they have full order, because [exact] gives the values at earlier times."),
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
      {"equation", {names({"navier_stokes"})}, {}, "", "Incompressible Navier-Stokes equations."},
      {"viscosity", {number_above(0)}, {}, "length^2 / time", "Kinematic viscosity."},
      {"force",
       {three_expressions()},
       left_out,
       "length / time^2",
       "Body force per mass along x, y and z. " + numbers_at + "."},
      {"time_step",
       {number_above(0)},
       {},
       "time",
       "The time step, which is constant; with target_courant it is divided into substeps."},
      time_order_key(usual.time_order, "Order of the backward differences and of the extrapolation."),
      start_key("lower: the first steps have lower order, which leaves an error of order 2 in the time step; exact: "
                "they have "
                "full order, because [exact] gives the flow at earlier times."),
      {"target_courant",
       {number_above(0)},
       left_out,
       "-",
       "Each time step has as many equal substeps as keep the Courant number below this."},
      {"courant_limit",
       {number_above(0)},
       left_out,
       "-",
       "Courant number above which the run ends. Left out: the stability limit of advection by a uniform velocity."},
      {"divergence_damping",
       {up_to(most_damping, number_from(0))},
       usual.divergence_damping,
       "steps",
       "Number of explicit steps after each time step that damp the divergence within elements, which the "
       "pressure does not remove; 0: none."},
      {"filter",
       {number_from(0)},
       usual.filter,
       "1 / time",
       "Rate at which the highest modes are damped (a high-pass filter): du/dt = - filter (u - G u); 0: none."},
      {"filter_modes",
       {integer_from(1)},
       std::int64_t{usual.filter_modes},
       "modes",
       "Number of the highest modes along each axis that the filter damps."},
      {"mean_from",
       {number_from(0)},
       left_out,
       "time",
       "Time from which running means are computed, for fields.vtkhdf and checkpoints: mean_velocity, mean_pressure, "
       "mean_squares (uu vv ww) and mean_products (uv uw vw)."},
      {"pressure_tolerance",
       {number_above(0)},
       usual.pressure_tolerance,
       "length / time^2",
       "The solution for the pressure ends when the root mean square of the residual r is at most this: sqrt((r, r) / "
       "volume)."},
      {"velocity_tolerance",
       {number_above(0)},
       usual.velocity_tolerance,
       "length / time^2",
       "Root mean square of the residual at which the solution for each velocity component ends."},
      most_iterations_key(usual.most_iterations, "Largest number of iterations for each solution."),
      method_key(usual.pressure.method,
                 "Solver for the pressure: flexible conjugate gradients, or restarted flexible GMRES."),
      restart_key(usual.pressure.restart, "fgmres: iterations between restarts; each stores two vectors."),
      projection_key(usual.pressure.projection,
                     "Number of earlier pressures onto which the initial guess of the pressure is projected."),
      {"preconditioner",
       {names(of_pressure)},
       name_in(preconditioners, usual.pressure.preconditioner),
       "",
       "Preconditioner of the pressure: Jacobi; or p-multigrid whose smoothers are Chebyshev polynomials with Jacobi "
       "(multigrid) or with overlapping Schwarz (schwarz)."},
      degree_key("Degree of the Chebyshev polynomials; left out: multigrid 3, schwarz 2."),
      not_converged_key("Whether a run stops or goes on if a solution does not reach its tolerance."),
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

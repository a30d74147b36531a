// Bindings for Python of Poisson's, Helmholtz's and the diffusion equation on spectral elements.
#include <slipstream/sem_solver.hpp>

#include "api/python_errors.hpp"
#include "api/sem/element_files.hpp"
#include "api/sem/functions.hpp"
#include "api/sem/on_elements.hpp"
#include "api/sem/python_flow.hpp"
#include "api/solver/case_table.hpp"
#include "api/solver/python_solver.hpp"
#include "solver/sem/keys.hpp"

#include <nanobind/stl/pair.h>

extern "C" const char* slipstream_sem_build();

namespace slipstream::python {
namespace {

using sem::Sem;

/// Reads a coefficient of the equation: a number, or a function of coordinates.
void coefficient(const nb::object& from, double& number, sem::Function& function) {
  if (nb::isinstance<nb::float_>(from) || nb::isinstance<nb::int_>(from))
    number = nb::cast<double>(from);
  else
    function = function_of(from);
}

/// Reads a domain side's boundary conditions by precedence: kind, given values, where it holds, transfer coefficient.
sem::Side side_of(const std::vector<nb::tuple>& parts) {
  sem::Side first;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    sem::Side side;
    side.condition = one_of<sem::Condition>(
        nb::cast<std::string>(parts[n][0]),
        {{"periodic", sem::Condition::periodic}, {"value", sem::Condition::value}, {"flux", sem::Condition::flux}},
        "condition of a side");
    side.given = given(parts[n][1]);
    side.where = function_of(parts[n][2]);
    side.transfer = function_of(parts[n][3]);
    if (n == 0)
      first = side;
    else
      first.otherwise.push_back(side);
  }
  return first;
}

/// Reads the options of one unknown. Returns the file and the name of the field from which the unknown starts.
std::pair<std::string, std::string> read_scalar(Reader& reader, sem::Scalar& o) {
  nb::object source = nb::none(), initial = nb::none();
  nb::object diffusivity = nb::float_(o.diffusivity), reaction = nb::float_(o.reaction);
  std::pair<std::string, std::string> start;
  std::vector<std::vector<nb::tuple>> sides;
  bool go_on = false;
  reader.read("name", o.name);
  reader.read("diffusivity", diffusivity);
  reader.read("reaction", reaction);
  reader.read("sides", sides);
  reader.read("source", source);
  reader.read("initial", initial);
  reader.read("start_from", start);
  reader.read("tolerance", o.krylov.tolerance);
  reader.read("absolute_tolerance", o.krylov.absolute_tolerance);
  reader.read("most_iterations", o.krylov.most_iterations);
  reader.read("go_on", go_on);
  reader.read("preconditioner", o.solver.preconditioner, &sem::preconditioner_from_string);
  reader.read("degree", o.solver.degree);
  reader.read("method", o.solver.method, &sem::method_from_string);
  reader.read("restart", o.solver.restart);
  reader.read("projection", o.solver.projection);
  o.krylov.must_converge = !go_on;
  coefficient(diffusivity, o.diffusivity, o.diffusivity_at);
  coefficient(reaction, o.reaction, o.reaction_at);
  o.source = given(source);
  o.initial = function_of(initial);
  require(sides.size() <= 6, "a box has six sides");
  for (std::size_t n = 0; n < sides.size(); ++n) o.sides[n / 2][n % 2] = side_of(sides[n]);
  return start;
}

sem::Options sem_options(const nb::dict& dict) {
  sem::Options o;
  Reader reader(dict, "the solver");
  std::vector<nb::object> velocity;
  std::vector<nb::dict> more;
  read_elements(reader, o);
  reader.read("equation", o.equation, &sem::equation_from_string);
  const std::pair<std::string, std::string> start = read_scalar(reader, o);
  reader.read("more", more);
  reader.read("velocity", velocity);
  reader.read("target_courant", o.target_courant);
  reader.read("time_step", o.time_step);
  reader.read("time_order", o.time_order);
  reader.read("exact_start", o.exact_start);
  reader.finish();
  for (const nb::dict& each : more) {
    Reader of_scalar(each, "a scalar");
    read_scalar(of_scalar, o.more.emplace_back());
    of_scalar.finish();
  }
  require(velocity.size() <= 3, "a velocity has three parts");
  for (std::size_t a = 0; a < velocity.size(); ++a) o.velocity[a] = given(velocity[a]);
  if (!start.first.empty()) o.start = start_from(start.first, start.second, sem::box_of(o), o.order);
  return o;
}

nb::dict plan_sem(const Machine& machine, const nb::dict& dict) {
  const DecimalPoint point;
  const sem::Options o = sem_options(dict);
  sem::check(o);
  return plan_dict(sem::plan_grid(machine, o), sem::memory_needed(machine, o), {}, Layout::soa,
                   sem::bytes_per_point(o));
}

void check_sem_elements(const nb::dict& dict) {
  const DecimalPoint point;
  const sem::Options o = sem_options(dict);
  Released release;
  sem::check(o);
  sem::check_elements(o);
}

nb::tuple largest_sem_grid(const Machine& machine, const nb::dict& dict) {
  return largest_of(machine, sem_options(dict), &sem::Options::elements,
                    [&](const sem::Options& o) { return sem::memory_needed(machine, o); });
}

nb::dict statistics_dict(Sem& self, const nb::object& exact, std::size_t scalar) {
  const sem::Function function = function_of(exact);
  sem::Statistics s;
  {
    Released release;
    s = self.statistics(function, scalar);
  }
  nb::dict found;
  found["volume"] = s.volume;
  found["mean"] = s.mean;
  found["least"] = s.least;
  found["largest"] = s.largest;
  found["distance"] = s.distance;
  found["largest_off"] = s.largest_off;
  return found;
}

void bind_sem_solver(nb::module_& m) {
  bind_case_tables(m, &sem::case_tables);
  m.def("check_sem_elements", &check_sem_elements, nb::arg("options"));
  bind_element_files(m);
  nb::class_<sem::Probe>(m, "Probe", "Points in a solver's elements.")
      .def_prop_ro("points", [](const sem::Probe& self) { return self.points(); });
  bind_on_elements(m);
  solver_class<Sem, sem::ElementSolver>(
      m, "Sem", "Poisson's, Helmholtz's or the diffusion equation on spectral elements. Calls are collective.",
      &sem_options)
      .def_static("plan", &plan_sem, nb::arg("machine"), nb::arg("options"))
      .def_static("largest_grid", &largest_sem_grid, nb::arg("machine"), nb::arg("options"))
      .def("statistics", &statistics_dict, nb::arg("exact") = nb::none(), nb::arg("scalar") = std::size_t{0},
           "exact: function of places [point][x y z] and the time; scalar: the number of the unknown.")
      .def(
          "fit", [](Sem& self, std::size_t scalar) { return fit_dict(self.fit(scalar)); },
          nb::arg("scalar") = std::size_t{0},
          "Operator and preconditioner of the step to come, measured by two vectors of noise: times of one application "
          "in microseconds, and asymmetries, 0 for symmetric ones but for rounding. Collective.")
      .def(
          "effort", [](Sem& self, std::size_t scalar) { return effort_dict(self.effort(scalar)); },
          nb::arg("scalar") = std::size_t{0},
          "Iterations of all linear solutions so far, and the outcome of the last one.");
}

}  // namespace
}  // namespace slipstream::python

NB_MODULE(_sem, m) {
  using namespace slipstream::python;
  begin_module(m, "sem", slipstream_sem_build());
  bind_sem_solver(m);
  bind_flow(m);
}

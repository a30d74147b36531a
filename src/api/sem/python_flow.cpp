// Bindings of the incompressible flow solver on spectral elements for Python.
#include "api/sem/python_flow.hpp"

#include <slipstream/sem_flow.hpp>

#include "api/python_errors.hpp"
#include "api/sem/element_files.hpp"
#include "api/sem/functions.hpp"
#include "api/sem/on_elements.hpp"
#include "api/solver/python_solver.hpp"

namespace slipstream::python {
namespace {

using sem::Flow;

std::array<sem::Given, 3> three_given(const std::vector<nb::object>& parts) {
  require(parts.empty() || parts.size() == 3, "a vector has three parts");
  std::array<sem::Given, 3> all;
  for (std::size_t c = 0; c < parts.size(); ++c) all[c] = given(parts[c]);
  return all;
}

std::array<sem::Function, 3> three_functions(const std::vector<nb::object>& parts) {
  require(parts.empty() || parts.size() == 3, "a vector has three parts");
  std::array<sem::Function, 3> all;
  for (std::size_t c = 0; c < parts.size(); ++c) all[c] = function_of(parts[c]);
  return all;
}

/// Reads the boundary conditions of a side, [(condition, velocity, where)], in order of precedence.
sem::FlowSide flow_side_of(const std::vector<nb::tuple>& parts) {
  sem::FlowSide first;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    sem::FlowSide side;
    side.condition = one_of<sem::FlowCondition>(nb::cast<std::string>(parts[n][0]),
                                                {{"periodic", sem::FlowCondition::periodic},
                                                 {"velocity", sem::FlowCondition::velocity},
                                                 {"symmetry", sem::FlowCondition::symmetry}},
                                                "condition of a side");
    side.velocity = three_given(nb::cast<std::vector<nb::object>>(parts[n][1]));
    side.where = function_of(parts[n][2]);
    if (n == 0)
      first = side;
    else
      first.otherwise.push_back(side);
  }
  return first;
}

sem::FlowOptions flow_options(const nb::dict& dict) {
  sem::FlowOptions o;
  Reader reader(dict, "the solver");
  std::vector<std::vector<nb::tuple>> sides;
  std::vector<nb::object> force, initial;
  bool go_on = false;
  read_elements(reader, o);
  reader.read("viscosity", o.viscosity);
  reader.read("sides", sides);
  reader.read("force", force);
  reader.read("initial", initial);
  reader.read("time_step", o.time_step);
  reader.read("time_order", o.time_order);
  reader.read("exact_start", o.exact_start);
  reader.read("target_courant", o.target_courant);
  reader.read("divergence_damping", o.divergence_damping);
  reader.read("filter", o.filter);
  reader.read("filter_modes", o.filter_modes);
  reader.read("pressure_tolerance", o.pressure_tolerance);
  reader.read("velocity_tolerance", o.velocity_tolerance);
  reader.read("most_iterations", o.most_iterations);
  reader.read("go_on", go_on);
  reader.read("method", o.pressure.method, &sem::method_from_string);
  reader.read("preconditioner", o.pressure.preconditioner, &sem::preconditioner_from_string);
  reader.read("degree", o.pressure.degree);
  reader.read("restart", o.pressure.restart);
  reader.read("projection", o.pressure.projection);
  nb::object mean_from = nb::none(), courant_limit = nb::none();
  reader.read("mean_from", mean_from);
  reader.read("courant_limit", courant_limit);
  reader.finish();
  if (!courant_limit.is_none()) o.courant_limit = nb::cast<double>(courant_limit);
  if (!mean_from.is_none()) o.mean_from = nb::cast<double>(mean_from);
  o.must_converge = !go_on;
  o.force = three_given(force);
  o.initial = three_functions(initial);
  require(sides.size() <= 6, "a box has six sides");
  for (std::size_t n = 0; n < sides.size(); ++n) o.sides[n / 2][n % 2] = flow_side_of(sides[n]);
  return o;
}

nb::dict plan_flow(const Machine& machine, const nb::dict& dict) {
  const DecimalPoint point;
  const sem::FlowOptions o = flow_options(dict);
  sem::check(o);
  return plan_dict(sem::plan_grid(machine, sem::component_of(o, 0)), sem::memory_needed(machine, o), {}, Layout::soa,
                   sem::bytes_per_point(o));
}

void check_flow_elements(const nb::dict& dict) {
  const DecimalPoint point;
  const sem::FlowOptions o = flow_options(dict);
  Released release;
  sem::check(o);
  sem::check_elements(sem::component_of(o, 0));
}

nb::tuple largest_flow_grid(const Machine& machine, const nb::dict& dict) {
  return largest_of(machine, flow_options(dict), &sem::FlowOptions::elements,
                    [&](const sem::FlowOptions& o) { return sem::memory_needed(machine, o); });
}

nb::dict flow_statistics_dict(Flow& self, const std::vector<nb::object>& velocity, const nb::object& pressure) {
  const sem::FlowSolution exact{three_functions(velocity), function_of(pressure)};
  sem::FlowStatistics s;
  {
    Released release;
    s = self.statistics(exact);
  }
  nb::dict found;
  found["volume"] = s.volume;
  found["energy"] = s.energy;
  found["enstrophy"] = s.enstrophy;
  found["dissipation"] = s.dissipation;
  found["decay"] = s.decay;
  found["divergence"] = s.divergence;
  found["mean"] = s.mean;
  found["distance"] = s.distance;
  found["largest_off"] = s.largest_off;
  found["pressure_off"] = s.pressure_off;
  return found;
}

}  // namespace

void bind_flow(nb::module_& m) {
  m.def("check_flow_elements", &check_flow_elements, nb::arg("options"));
  solver_class<Flow, sem::ElementSolver>(m, "Flow", "Incompressible flow on spectral elements. Calls are collective.",
                                         &flow_options)
      .def_static("plan", &plan_flow, nb::arg("machine"), nb::arg("options"))
      .def_static("largest_grid", &largest_flow_grid, nb::arg("machine"), nb::arg("options"))
      .def("statistics", &flow_statistics_dict, nb::arg("velocity") = std::vector<nb::object>{},
           nb::arg("pressure") = nb::none(), "velocity, pressure: functions of places [point][x y z] and the time.")
      .def(
          "fit", [](Flow& self) { return fit_dict(self.fit()); },
          "Operator and preconditioner of the pressure, measured by two vectors of noise. Collective.")
      .def("pressure_effort", [](Flow& self) { return effort_dict(self.pressure_effort()); })
      .def("velocity_effort", [](Flow& self) { return effort_dict(self.velocity_effort()); })
      .def(
          "past",
          [](Flow& self) {
            const Flow::Past past = self.past();
            return nb::make_tuple(past.last, past.before, past.count, past.averaged, past.earlier);
          },
          "Lengths of the last two steps or parts, how many there were, the time over which running means go, and how "
          "many solutions for the pressure are kept.")
      .def("set_past",
           [](Flow& self, double last, double before, std::int64_t count, double averaged, int earlier) {
             self.set_past({last, before, count, averaged, earlier});
           })
      .def(
          "forces",
          [](Flow& self) {
            std::vector<sem::SideForce> found;
            {
              Released release;
              found = self.forces();
            }
            nb::dict by_side;
            for (const sem::SideForce& one : found) {
              const char side[] = {"xyz"[one.axis], "-+"[one.end], 0};
              by_side[static_cast<const char*>(side)] = nb::make_tuple(one.pressure, one.viscous);
            }
            return by_side;
          },
          "By side: what pressure and viscosity do to it, (x y z) each, over density.")
      .def(
          "planes",
          [](Flow& self, std::size_t axis) {
            std::vector<sem::PlaneMeans> found;
            {
              Released release;
              found = self.planes(axis);
            }
            nb::list rows;
            for (const sem::PlaneMeans& one : found) {
              std::vector<double> row{one.place, one.velocity[0], one.velocity[1], one.velocity[2], one.pressure};
              row.insert(row.end(), one.squares.begin(), one.squares.end());
              row.insert(row.end(), one.products.begin(), one.products.end());
              rows.append(row);
            }
            return rows;
          },
          nb::arg("axis"), "Rows of the place, u v w p, uu vv ww, uv uw vw: means over planes across an axis.");
}

}  // namespace slipstream::python

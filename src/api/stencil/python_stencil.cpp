#include <slipstream/stencil_solver.hpp>

#include "api/solver/case_table.hpp"
#include "api/solver/python_solver.hpp"
#include "solver/stencil/keys.hpp"

#include <nanobind/stl/pair.h>

extern "C" const char* slipstream_stencil_build();

namespace slipstream::python {
namespace {

using stencil::Stencil;

/// Calls a Python function with the corners of a box of cells, which returns values [z][y][x].
stencil::Values values_of(const nb::object& function) {
  if (function.is_none()) return {};
  return [asked = Asked(function)](const Box& box) {
    const nb::gil_scoped_acquire acquire;
    using Array = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
    const auto array = nb::cast<Array>(asked(triple(box.lo), triple(box.hi)));
    return std::vector<double>(array.data(), array.data() + array.size());
  };
}

stencil::Options stencil_options(const nb::dict& dict) {
  stencil::Options o;
  Reader reader(dict, "the solver");
  std::string equation = "heat", scheme = "explicit", precision = "f32";
  bool go_on = false;
  std::vector<std::string> sides(6, "fixed");
  nb::object speeds = nb::none();
  std::vector<nb::dict> sources, receivers;
  reader.read("cells", o.cells);
  reader.read("periodic", o.periodic);
  reader.read("equation", equation);
  reader.read("scheme", scheme);
  reader.read("tolerance", o.krylov.tolerance);
  reader.read("absolute_tolerance", o.krylov.absolute_tolerance);
  reader.read("most_iterations", o.krylov.most_iterations);
  reader.read("go_on", go_on);
  reader.read("points", o.points);
  reader.read("order", o.order);
  reader.read("precision", precision);
  reader.read("spacing", o.spacing);
  reader.read("time_step", o.time_step);
  reader.read("diffusivity", o.diffusivity);
  reader.read("speed", o.speed);
  reader.read("speeds", speeds);
  reader.read("sides", sides);
  reader.read("absorbing", o.absorbing);
  reader.read("sources", sources);
  reader.read("receivers", receivers);
  reader.read("steps_per_exchange", o.steps_per_exchange);
  read_cut_and_exchange(reader, o);
  reader.finish();
  o.equation = one_of(equation, stencil::equations, "equation");
  require(sides.size() == 6, "a box has the six sides x-, x+, y-, y+, z-, z+");
  for (std::size_t n = 0; n < 6; ++n)
    o.sides.of[n / 2][n % 2] = one_of(sides[n], stencil::kinds_of_sides, "kind of sides");
  o.scheme = stencil::scheme_from_string(scheme);
  o.krylov.must_converge = !go_on;
  o.precision = dtype_from_string(precision);
  o.speeds = values_of(speeds);
  for (const nb::dict& given : sources) {
    stencil::Source source;
    Reader one(given, "a source");
    one.read("name", source.name);
    one.read("cell", source.cell);
    one.read("frequency", source.frequency);
    one.read("amplitude", source.amplitude);
    one.read("delay", source.delay);
    one.finish();
    o.sources.push_back(source);
  }
  for (const nb::dict& given : receivers) {
    stencil::Receiver receiver;
    Reader one(given, "a receiver");
    one.read("name", receiver.name);
    one.read("cell", receiver.cell);
    one.finish();
    o.receivers.push_back(receiver);
  }
  return o;
}

nb::dict plan(const Machine& machine, const nb::dict& dict) {
  const DecimalPoint point;
  const stencil::Options o = stencil_options(dict);
  stencil::check(o);
  const Grid grid = stencil::plan_grid(machine, o);
  stencil::check_blocks(grid, o);
  return plan_dict(grid, stencil::memory_needed(grid, o), stencil::messages_needed(grid, o), Layout::soa,
                   stencil::bytes_per_cell(o));
}

nb::tuple largest_grid(const Machine& machine, const nb::dict& dict) {
  return largest_of(machine, stencil_options(dict), &stencil::Options::cells, [&](const stencil::Options& o) {
    return stencil::memory_needed(stencil::plan_grid(machine, o), o);
  });
}

nb::dict tune_steps(const Machine& machine, const nb::dict& dict) {
  const stencil::Options o = stencil_options(dict);
  stencil::StepsTuning t;
  {
    Released release;
    t = stencil::tune_steps(world(), machine, o, o.tune.value_or(TuneOptions{}));
  }
  nb::dict found = source_of(t);
  found["steps"] = t.steps;
  found["tried"] = t.tried;
  return found;
}

void bind_stencil(nb::module_& m) {
  bind_case_tables(m, &stencil::case_tables);
  m.def(
      "stable_time_step", [](const nb::dict& dict) { return stencil::stable_time_step(stencil_options(dict)); },
      nb::arg("options"));

  m.def("tune_steps", &tune_steps, nb::arg("machine"), nb::arg("options"));

  using Release = nb::call_guard<Released>;
  solver_class<Stencil, Solver>(m, "Stencil", "Finite differences in time and space.", &stencil_options)
      .def_static("plan", &plan, nb::arg("machine"), nb::arg("options"))
      .def_static("largest_grid", &largest_grid, nb::arg("machine"), nb::arg("options"))
      .def(
          "start_from",
          [](Stencil& self, const nb::object& u, const nb::object& before) {
            const stencil::Values now = values_of(u), then = values_of(before);
            Released release;
            self.start_from(now, then);
          },
          nb::arg("u"), nb::arg("before") = nb::none())
      .def(
          "start_moving",
          [](Stencil& self, const nb::object& u, const nb::object& rate) {
            const stencil::Values now = values_of(u), moving = values_of(rate);
            nb::gil_scoped_release release;
            self.start_moving(now, moving);
          },
          nb::arg("u"), nb::arg("rate"))
      .def_prop_ro("time_step", [](Stencil& self) { return self.options().time_step; })
      .def("largest_change", &Stencil::largest_change, Release())
      .def("effort", [](Stencil& self) { return effort_dict(self.effort()); })
      .def("seismogram", &Stencil::seismogram, nb::arg("receiver"), nb::arg("since") = 0, Release())
      .def(
          "series",
          [](Stencil& self, const std::string& path, std::optional<double> up_to) {
            const double h = self.options().spacing;
            return new FieldSeries(self, path, {h, h, h}, up_to);
          },
          nb::arg("path"), nb::arg("up_to") = nb::none(), nb::keep_alive<0, 1>(), Release());
}

}  // namespace
}  // namespace slipstream::python

NB_MODULE(_stencil, m) {
  using namespace slipstream::python;
  begin_module(m, "stencil", slipstream_stencil_build());
  bind_stencil(m);
}

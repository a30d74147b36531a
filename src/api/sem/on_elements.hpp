#pragma once
// Bindings that all solvers on spectral elements have.
#include "api/exchange/python_report.hpp"
#include "api/reading.hpp"
#include "api/sem/element_files.hpp"
#include "api/sem/functions.hpp"
#include "api/solver/python_solver.hpp"

namespace slipstream::python {

/// Reads the elements, and how their messages travel.
template <class Options>
void read_elements(Reader& reader, Options& o) {
  std::string factors = "stored";
  nb::object map = nb::none();
  nb::dict exchange;
  reader.read("elements", o.elements);
  reader.read("lengths", o.lengths);
  reader.read("stretch", o.stretch);
  reader.read("deformation", o.deform);
  reader.read("map", map);
  reader.read("order", o.order);
  reader.read("factors", factors);
  reader.read("exchange", exchange);
  o.factors = sem::factors_from_string(factors);
  o.map = map_of(map);
  Watched watched;
  o.exchange = exchange_options(exchange, &watched);
  o.tune = watched.tune;
}

template <class Engine>
void bind_on_elements(nb::class_<Engine, Simulation>& bound) {
  using Release = nb::call_guard<Released>;
  bound.def("advance", &Engine::advance, nb::arg("steps"), Release())
      .def_prop_ro("step", [](Engine& self) { return self.state().step; })
      .def_prop_ro("time", [](Engine& self) { return self.state().time; })
      .def("largest_change", &Engine::largest_change, Release())
      .def("cautions", &Engine::cautions)
      .def(
          "gather",
          [](Engine& self, const std::string& name, const Extent& lo, const Extent& hi) {
            return gathered(world(), [&]() -> const Field& { return self.state()[name]; }, {lo, hi});
          },
          nb::arg("field"), nb::arg("lo"), nb::arg("hi"), "[1, element, point, component] on rank 0.")
      .def(
          "series",
          [](Engine& self, const std::string& path, std::optional<double> up_to) {
            return new ElementSeries(self, path, up_to);
          },
          nb::arg("path"), nb::arg("up_to") = nb::none(), nb::keep_alive<0, 1>(), Release())
      .def(
          "write_nek",
          [](Engine& self, const std::string& path, int word_bytes, bool places, const std::vector<Given>& items) {
            write_nek(self, path, word_bytes, places, items);
          },
          nb::arg("path"), nb::arg("word_bytes"), nb::arg("places"), nb::arg("items"),
          "items: (U, P, T, S01 and so on, field of the state or array).")
      .def(
          "elements", [](Engine& self) { return elements_of_rank(self); },
          "Of this rank: the first, and the one behind the last.")
      .def(
          "copies", [](Engine& self, const std::string& name) { return block_copies(self.grid(), self.state()[name]); },
          nb::arg("field"), "Copies of the arrays of this rank's blocks on the host: [1][element][point][component].")
      .def(
          "places", [](Engine& self) { return places_of_rank(self); }, "[element][t][s][r][x y z] of this rank.")
      .def(
          "probe",
          [](Engine& self, std::vector<sem::Point> points) { return new sem::Probe(self.space(), std::move(points)); },
          nb::arg("points"), nb::keep_alive<0, 1>(), Release())
      .def("guard", &Engine::guard, nb::arg("every"))
      .def("inspect", &Engine::inspect, Release())
      .def("phases", [](Engine& self) { return phases(self.time_loop()); })
      .def("tuning", [](Engine& self) { return tuning_dict(self.space().gather_scatter().tuning()); })
      .def(
          "report",
          [](Engine& self) {
            std::vector<ReportRow> rows;
            {
              Released release;
              rows = self.space().gather_scatter().report();
            }
            return report_list(rows);
          },
          "Messages of the last gather-scatter.");
}

}  // namespace slipstream::python

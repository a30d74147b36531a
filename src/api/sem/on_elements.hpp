#pragma once
// Bindings that all solvers on spectral elements share.
#include "api/sem/element_files.hpp"
#include "api/sem/functions.hpp"
#include "api/solver/python_solver.hpp"

namespace slipstream::python {

/// Reads the options of the box of elements and of the exchange between its devices.
template <class Options>
void read_elements(Reader& reader, Options& o) {
  nb::object map = nb::none();
  nb::dict exchange;
  reader.read("elements", o.elements);
  reader.read("lengths", o.lengths);
  reader.read("stretch", o.stretch);
  reader.read("deformation", o.deform);
  reader.read("map", map);
  reader.read("order", o.order);
  reader.read("factors", o.factors, &sem::factors_from_string);
  reader.read("exchange", exchange);
  o.map = map_of(map);
  Watched watched;
  o.exchange = exchange_options(exchange, &watched);
  o.tune = watched.tune;
}

inline void bind_on_elements(nb::module_& m) {
  using Engine = sem::ElementSolver;
  using Release = nb::call_guard<Released>;
  nb::class_<Engine, Solver>(m, "ElementSolver",
                             "A run on spectral elements, whose fields are [1, element, point, component].")
      .def("largest_change", &Engine::largest_change, Release())
      .def("cautions", &Engine::cautions)
      .def("courant", &Engine::courant, "Courant number of the last step or substep; 0 without a velocity.")
      .def("at", &Engine::at, nb::arg("probe"), nb::arg("field"), nb::arg("component") = std::size_t{0}, Release(),
           "By point, on every rank.")
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
          "Elements of this rank: the index of the first, and one past the index of the last.")
      .def(
          "places", [](Engine& self) { return places_of_rank(self); }, "[element][t][s][r][x y z] of this rank.")
      .def(
          "probe",
          [](Engine& self, std::vector<sem::Point> points) { return new sem::Probe(self.space(), std::move(points)); },
          nb::arg("points"), nb::keep_alive<0, 1>(), Release());
}

}  // namespace slipstream::python

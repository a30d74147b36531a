#include "api/sem/element_files.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "api/python_errors.hpp"
#include "machine/agree.hpp"
#include "solver/sem/places.hpp"
#include "solver/sem/rule.hpp"

#include <nanobind/stl/pair.h>

namespace slipstream::python {
namespace {

std::size_t cube_of(int order) {
  const auto n = static_cast<std::size_t>(order) + 1;
  return n * n * n;
}

/// Returns a function that computes the coordinates of the points of an element.
auto places_of(const sem::ElementBox& box, const sem::Rule& rule) {
  return [all = sem::BoxPlaces(box, rule.points), cube = cube_of(rule.order)](std::int64_t element) {
    std::vector<sem::Point> here(cube);
    all.of(element, 1, here.data());
    return here;
  };
}

HexahedraSeries::Mesh mesh_of(sem::ElementSolver& solver) {
  const sem::Rule rule = sem::gauss_lobatto(solver.space().order());
  std::vector<double> even;
  for (int i = 0; i <= rule.order; ++i) even.push_back(2.0 * i / rule.order - 1);
  const sem::ElementBox& box = solver.space().box();
  return {rule.order, box.count(), sem::interpolation(rule, even), places_of(box, rule)};
}

/// Interpolates n^3 values to m^3 points by an m x n matrix along each axis, i fastest.
std::vector<double> along_all_axes(const std::vector<double>& matrix, std::size_t n, std::size_t m,
                                   const double* values) {
  std::vector<double> now(values, values + n * n * n);
  for (std::size_t axis = 0, step = 1; axis < 3; ++axis, step *= m) {
    const std::size_t lines = now.size() / n / step;
    std::vector<double> next(lines * m * step);
    for (std::size_t line = 0; line < lines; ++line)
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t p = 0; p < step; ++p) {
          double sum = 0;
          for (std::size_t l = 0; l < n; ++l) sum = std::fma(matrix[i * n + l], now[(line * n + l) * step + p], sum);
          next[(line * m + i) * step + p] = sum;
        }
    now = std::move(next);
  }
  return now;
}

/// Compares coordinates of an element's points with a file's. `shared`: quadrature rule whose points both orders have.
void compare_places(const NekFile& file, const sem::Rule& shared, std::int64_t element,
                    const std::vector<sem::Point>& here) {
  const std::vector<double> x = file.read("X", element);
  const auto n = static_cast<std::size_t>(file.order()) + 1, m = shared.points.size();
  double extent = 0, size = 0;
  for (const sem::Point& place : here)
    for (std::size_t d = 0; d < 3; ++d) {
      extent = std::max(extent, std::abs(place[d] - here[0][d]));
      size = std::max(size, std::abs(place[d]));
    }
  const double limit = file.word_bytes() == 4 ? std::max(1e-5 * extent, 2e-7 * size) : 1e-9 * extent + 1e-14 * size;
  const std::size_t step = (n - 1) / (m - 1);
  for (std::size_t p = 0; p < here.size(); ++p) {
    const std::size_t at = (p % m + n * (p / m % m + n * (p / (m * m)))) * step;
    for (std::size_t d = 0; d < 3; ++d)
      require(std::abs(x[d * n * n * n + at] - here[p][d]) <= limit, ErrorCode::mismatch,
              "'" + file.path() + "' has element " + std::to_string(element) +
                  " in another place: the mesh, its map or the order of its elements is another one; here it has " +
                  sem::text(here[p]),
              {{"file", file.path()}, {"problem", "places"}, {"element", element}, {"place", sem::text(here[p])}});
  }
}

nb::object values_array(std::vector<double> values, std::initializer_list<std::size_t> shape) {
  auto* const kept = new std::vector<double>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double>(kept->data(), shape.size(), shape.begin(), owner));
}

}  // namespace

std::array<std::int64_t, 2> elements_of_rank(sem::ElementSolver& solver) {
  std::array<std::int64_t, 2> found{0, 0};
  for (const std::int64_t id : solver.grid().local()) {
    const Box& box = solver.grid().block(id).box;
    if (found[1] == 0) found[0] = box.lo[1];
    found[1] = box.hi[1];
  }
  return found;
}

nb::object places_of_rank(sem::ElementSolver& solver) {
  std::vector<double> all;
  for (std::size_t d = 0; d < solver.space().streams().size(); ++d)
    for (const sem::Point& place : solver.space().places(d)) all.insert(all.end(), place.begin(), place.end());
  const auto n = static_cast<std::size_t>(solver.space().order()) + 1, elements = all.size() / (3 * n * n * n);
  return values_array(std::move(all), {elements, n, n, n, 3});
}

const Field& GivenFields::of(const Given& given) {
  const auto& [name, object] = given;
  std::string named;
  if (nb::try_cast(object, named)) return solver_.state()[named];
  const auto [first, last] = elements_of_rank(solver_);
  const std::size_t n = static_cast<std::size_t>(solver_.space().order()) + 1;
  using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
  Array values;
  require(nb::try_cast(object, values), ErrorCode::mismatch,
          "the field '" + name + "' is no array of NumPy whose values are neighbours", {{"field", name}});
  const bool wide = values.dtype() == nb::dtype<double>(), narrow = values.dtype() == nb::dtype<float>();
  std::string shape;
  for (std::size_t d = 0; d < values.ndim(); ++d) shape += (d == 0 ? "" : ", ") + std::to_string(values.shape(d));
  const std::string needed =
      std::to_string(last - first) + ", " + std::to_string(n) + ", " + std::to_string(n) + ", " + std::to_string(n);
  bool fits = (wide || narrow) && (shape == needed || shape.starts_with(needed + ", ")) && values.ndim() <= 5;
  require(fits, ErrorCode::mismatch,
          "the field '" + name + "' is [" + shape + "]; it is f32 or f64, [element][t][s][r] = [" + needed +
              "], with components behind or without",
          {{"field", name}, {"given", shape}, {"needed", needed}});
  FieldOptions options;
  options.name = name;
  options.type = wide ? DType::f64 : DType::f32;
  options.components = values.ndim() == 5 ? static_cast<int>(values.shape(4)) : 1;
  options.alignment = 1;
  Field& field = made_.emplace_back(solver_.grid(), options);
  const auto cube = static_cast<std::int64_t>(n * n * n);
  if (last > first) field.write({{0, first, 0}, {cube, last, 1}}, values.data());
  return field;
}

ElementSeries::ElementSeries(sem::ElementSolver& solver, const std::string& path, std::optional<double> up_to)
    : solver_(solver), series_(world(), path, mesh_of(solver), up_to) {}

void ElementSeries::write(double time, const std::vector<std::pair<std::string, std::string>>& items,
                          const std::vector<Given>& arrays) {
  GivenFields fields(solver_);
  std::vector<HexahedraSeries::Item> all;
  const Problem refused = failure_of([&] {
    for (const auto& [name, unit] : items) all.push_back({name, &solver_.state()[name], unit});
    for (const Given& given : arrays) all.push_back({given.first, &fields.of(given)});
  });
  const Released release;
  agree(world(), refused);
  series_.write(time, all);
}

void write_nek(sem::ElementSolver& solver, const std::string& path, int word_bytes, bool places,
               const std::vector<Given>& items) {
  GivenFields fields(solver);
  const sem::Rule rule = sem::gauss_lobatto(solver.space().order());
  NekFields all{rule.order, solver.space().box().count()};
  if (places) all.places = places_of(solver.space().box(), rule);
  const Problem refused = failure_of([&] {
    for (const Given& given : items) {
      const std::string& name = given.first;
      const Field& field = fields.of(given);
      if (name == "U") {
        all.velocity = &field;
      } else if (name == "P") {
        all.pressure = &field;
      } else if (name == "T") {
        all.temperature = &field;
      } else {
        char next[8];
        std::snprintf(next, sizeof next, "S%02u", static_cast<unsigned>(all.scalars.size() + 1) % 1000);
        require(name == next, "a Nek file has fields U, P, T, and scalars S01, S02 and so on in their order",
                {{"field", name}, {"needed", next}});
        all.scalars.push_back(&field);
      }
    }
  });
  const Released release;
  agree(world(), refused);
  write_nek_file(world(), path, solver.state().time, solver.state().step, word_bytes, all);
}

std::function<std::vector<double>(std::int64_t, std::int64_t)> start_from(const std::string& path,
                                                                          const std::string& field,
                                                                          const sem::ElementBox& box, int order) {
  return [=](std::int64_t first, std::int64_t last) {
    const NekFile file(path);
    require(file.elements() == box.count(), ErrorCode::mismatch,
            "'" + path + "' has " + std::to_string(file.elements()) + " elements, and the mesh has " +
                std::to_string(box.count()),
            {{"file", path}, {"problem", "elements"}, {"given", file.elements()}, {"needed", box.count()}});
    const sem::Rule rule = sem::gauss_lobatto(order), theirs = sem::lobatto_of_any_order(file.order());
    const std::vector<double> matrix = sem::interpolation(theirs, rule.points);
    // Polynomials of different orders in a bent element agree only at points of both orders, which are the corners.
    const bool same = file.order() == order;
    const sem::Rule shared = same ? rule : sem::gauss_lobatto(1);
    const sem::BoxPlaces corners(box, shared.points);
    const bool has_places = std::find(file.fields().begin(), file.fields().end(), "X") != file.fields().end();
    std::vector<double> all;
    for (std::int64_t e = first; e < last; ++e) {
      if (has_places) {
        std::vector<sem::Point> here(cube_of(shared.order));
        corners.of(e, 1, here.data());
        compare_places(file, shared, e, here);
      }
      const std::vector<double> values = file.read(field, e);
      const std::vector<double> taken =
          same ? values : along_all_axes(matrix, theirs.points.size(), rule.points.size(), values.data());
      all.insert(all.end(), taken.begin(), taken.end());
    }
    return all;
  };
}

void bind_element_files(nb::module_& m) {
  nb::class_<ElementSeries>(m, "ElementSeries", "A VTKHDF time series of elements of high order.")
      .def("write", &ElementSeries::write, nb::arg("time"), nb::arg("items"), nb::arg("arrays") = std::vector<Given>{},
           "items: (field of the state, unit); arrays: (name, array). Collective.")
      .def_prop_ro("last_time", &ElementSeries::last_time)
      .def("close", &ElementSeries::close, nb::call_guard<Released>());
  nb::class_<NekFile>(m, "NekFile", "A field file of Nek5000. No call is collective.")
      .def(nb::init<std::string>(), nb::arg("path"), nb::call_guard<Released>())
      .def_prop_ro("order", &NekFile::order)
      .def_prop_ro("elements", &NekFile::elements)
      .def_prop_ro("time", &NekFile::time)
      .def_prop_ro("step", &NekFile::step)
      .def_prop_ro("fields", &NekFile::fields,
                   "Names of the fields in the file, out of X, U, P, T, S01, S02 and so on.")
      .def(
          "read",
          [](const NekFile& self, const std::string& field, std::int64_t element) {
            std::vector<double> values = self.read(field, element);
            const auto n = static_cast<std::size_t>(self.order()) + 1;
            return values_array(std::move(values), {field == "X" || field == "U" ? std::size_t{3} : 1, n, n, n});
          },
          nb::arg("field"), nb::arg("element"), "[component][t][s][r] of one element.");
}

}  // namespace slipstream::python

#include "api/sem/functions.hpp"

#include <algorithm>

#include "api/python_errors.hpp"
#include "api/solver/python_solver.hpp"

#include <nanobind/stl/pair.h>

namespace slipstream::python {

sem::Function function_of(const nb::object& function) {
  if (function.is_none()) return {};
  return [asked = Asked(function)](std::span<const sem::Point> places, double time) -> std::vector<double> {
    if (places.empty()) return {};
    const nb::gil_scoped_acquire acquire;
    using Places = nb::ndarray<nb::numpy, const double, nb::ndim<2>>;
    using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    const Places given(places.data()->data(), {places.size(), std::size_t{3}}, nb::none());
    const auto values = nb::cast<Values>(asked(given, time));
    return {values.data(), values.data() + values.size()};
  };
}

sem::Map map_of(const nb::object& function) {
  if (function.is_none()) return {};
  return [asked = Asked(function)](std::span<const sem::Point> places) {
    const nb::gil_scoped_acquire acquire;
    using Places = nb::ndarray<nb::numpy, const double, nb::ndim<2>>;
    using Mapped = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
    const Places given(places.data()->data(), {places.size(), std::size_t{3}}, nb::none());
    const auto mapped = nb::cast<Mapped>(asked(given));
    std::vector<sem::Point> there(mapped.shape(0));
    std::copy_n(mapped.data(), 3 * there.size(), there.data()->data());
    return there;
  };
}

sem::Given given(const nb::object& pair) {
  if (pair.is_none()) return {};
  const auto [function, steady] = nb::cast<std::pair<nb::object, bool>>(pair);
  return {function_of(function), steady};
}

}  // namespace slipstream::python

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include <slipstream/bodies.hpp>
#include <slipstream/mesh.hpp>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "api/python_core.hpp"
#include "api/reading.hpp"

namespace slipstream::python {
namespace {

using Points = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Triangles = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Mesh mesh_of(const Points& vertices, const Triangles& triangles) {
  require(vertices.shape(1) == 3 && triangles.shape(1) == 3,
          "a mesh is made of an array of vertices [n][3] and one of triangles [n][3]");
  Mesh mesh;
  mesh.parts = {"mesh"};
  for (std::size_t n = 0; n < vertices.shape(0); ++n)
    mesh.vertices.push_back({vertices(n, 0), vertices(n, 1), vertices(n, 2)});
  for (std::size_t n = 0; n < triangles.shape(0); ++n) {
    mesh.triangles.push_back({triangles(n, 0), triangles(n, 1), triangles(n, 2)});
    for (const std::int32_t vertex : mesh.triangles.back())
      require(
          vertex >= 0 && static_cast<std::size_t>(vertex) < vertices.shape(0), ErrorCode::not_found,
          "a triangle of a mesh names vertex " + std::to_string(vertex) + " of " + std::to_string(vertices.shape(0)),
          {{"vertex", vertex}, {"vertices", vertices.shape(0)}});
  }
  mesh.part.assign(mesh.triangles.size(), 0);
  return mesh;
}

/// Copies points or triangles, three numbers each, to a NumPy array of shape (n, 3).
template <class T>
nb::object rows_of(const std::vector<std::array<T, 3>>& rows) {
  const nb::ndarray<nb::numpy, const T> view(reinterpret_cast<const T*>(rows.data()), {rows.size(), 3});
  return nb::cast(view, nb::rv_policy::copy);
}

Mesh transformed_by(const Mesh& mesh, const std::string& units, double scale, const Point& rotate,
                    const Point& translate) {
  const DecimalPoint point;
  return transformed(mesh, {units, scale, rotate, translate});
}

/// Makes one mesh of the surfaces of many spheres.
Mesh spheres_of(const Points& centres, double radius, int refinements) {
  require(centres.shape(1) == 3, "centres are an array [n][3]");
  const Mesh one = make_sphere({0, 0, 0}, radius, refinements);
  Mesh all;
  all.parts = {"spheres"};
  for (std::size_t n = 0; n < centres.shape(0); ++n) {
    const auto first = static_cast<std::int32_t>(all.vertices.size());
    for (const Point& p : one.vertices)
      all.vertices.push_back({p[0] + centres(n, 0), p[1] + centres(n, 1), p[2] + centres(n, 2)});
    for (const auto& t : one.triangles) all.triangles.push_back({t[0] + first, t[1] + first, t[2] + first});
  }
  all.part.assign(all.triangles.size(), 0);
  return all;
}

MeshDomain domain_of(double spacing, const Extent& cells, const std::array<bool, 3>& periodic = {}) {
  MeshDomain domain;
  domain.spacing = spacing;
  domain.cells = cells;
  domain.periodic = periodic;
  return domain;
}

/// Low and high corner of the box round a mesh.
nb::tuple bounds_of(const Mesh& mesh) {
  const Bounds b = bounds(mesh);
  return nb::make_tuple(b.lo, b.hi);
}

nb::tuple fitted(const Point& lo, const Point& hi, double spacing, const Point& margin_low, const Point& margin_high,
                 const Extent& block, const std::array<bool, 3>& keep_low, const std::string& unit) {
  const DecimalPoint point;
  Bounds body;
  body.include(lo);
  body.include(hi);
  const MeshDomain domain = fit_domain(body, {spacing, margin_low, margin_high, block, keep_low, unit});
  return nb::make_tuple(domain.origin, domain.cells);
}

/// Builds the bodies. Each entry has a name, a mesh and the axes along which the mesh extends beyond the box by itself.
Bodies bodies_of(const std::vector<std::tuple<std::string, Mesh, std::array<bool, 3>>>& named, double spacing,
                 const Extent& cells, const std::array<bool, 3>& periodic) {
  const DecimalPoint point;
  std::vector<Body> bodies;
  for (const auto& [name, mesh, continued] : named) bodies.push_back({name, mesh, continued});
  return Bodies(std::move(bodies), domain_of(spacing, cells, periodic));
}

Mesh imaged(const Mesh& mesh, double spacing, const Extent& cells, const std::array<bool, 3>& periodic) {
  return with_images(mesh, domain_of(spacing, cells, periodic), 2);
}

}  // namespace

void bind_bodies(nb::module_& m) {
  using Release = nb::call_guard<Released>;
  nb::class_<Mesh>(m, "Mesh", "A surface of triangles that share vertices.")
      .def("__len__", [](const Mesh& self) { return self.triangles.size(); })
      .def_static("read", &read_mesh, nb::arg("path"), Release())
      .def_static("of", &mesh_of, nb::arg("vertices"), nb::arg("triangles"))
      .def_static("sphere", &make_sphere, nb::arg("centre"), nb::arg("radius"), nb::arg("refinements"))
      .def_static("spheres", &spheres_of, nb::arg("centres"), nb::arg("radius"), nb::arg("refinements"))
      .def_static("box", &make_box, nb::arg("lo"), nb::arg("hi"))
      .def_prop_ro("vertices", [](const Mesh& self) { return rows_of(self.vertices); })
      .def_prop_ro("triangles", [](const Mesh& self) { return rows_of(self.triangles); })
      .def("part", &select_part, nb::arg("name"))
      .def("weld", &weld, nb::arg("tolerance"), Release())
      .def("oriented", &oriented, Release())
      .def("transformed", &transformed_by, nb::arg("units"), nb::arg("scale"), nb::arg("rotate"), nb::arg("translate"))
      .def("with_images", &imaged, nb::arg("spacing"), nb::arg("cells"), nb::arg("periodic"), Release())
      .def("bounds", &bounds_of)
      .def(
          "require_inside",
          [](const Mesh& self, const std::string& name, double spacing, const Extent& cells, const std::string& unit) {
            require_inside(bounds(self), name, domain_of(spacing, cells), unit);
          },
          nb::arg("name"), nb::arg("spacing"), nb::arg("cells"), nb::arg("unit"));
  nb::class_<Bodies>(m, "Bodies", "Named closed surfaces on the cells of a grid.")
      .def("solid_cells",
           [](const Bodies& self, const Extent& lo, const Extent& hi) {
             return self.solid_cells({lo, hi});
           })
      .def("centres", [](const Bodies& self, const Extent& lo, const Extent& hi) {
        return self.centres({lo, hi});
      });
  m.def("fit_domain", &fitted, nb::arg("lo"), nb::arg("hi"), nb::arg("spacing"), nb::arg("margin_low"),
        nb::arg("margin_high"), nb::arg("block"), nb::arg("keep_low"), nb::arg("unit"));
  m.def("make_bodies", &bodies_of, nb::arg("named"), nb::arg("spacing"), nb::arg("cells"), nb::arg("periodic"),
        Release());
}

}  // namespace slipstream::python

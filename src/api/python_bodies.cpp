#include <slipstream/bodies.hpp>
#include <slipstream/mesh.hpp>

#include <nanobind/stl/pair.h>

#include "api/python_common.hpp"

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
          vertex >= 0 && static_cast<std::size_t>(vertex) < vertices.shape(0),
          "a triangle of a mesh names vertex " + std::to_string(vertex) + " of " + std::to_string(vertices.shape(0)));
  }
  mesh.part.assign(mesh.triangles.size(), 0);
  return mesh;
}

Mesh transformed_by(const Mesh& mesh, const std::string& units, double scale, const Point& rotate,
                    const Point& translate) {
  return transformed(mesh, {units, scale, rotate, translate});
}

/// One surface of many spheres.
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

MeshDomain domain_of(double spacing, const Extent& cells) {
  MeshDomain domain;
  domain.spacing = spacing;
  domain.cells = cells;
  return domain;
}

Bodies bodies_of(const std::vector<std::pair<std::string, Mesh>>& named, double spacing, const Extent& cells) {
  std::vector<Body> bodies;
  for (const auto& [name, mesh] : named) bodies.push_back({name, mesh});
  return Bodies(std::move(bodies), domain_of(spacing, cells));
}

}  // namespace

lbm::Surfaces surfaces_of(const Bodies& bodies) {
  lbm::Surfaces surfaces;
  for (std::int64_t n = 0; n < bodies.count(); ++n) surfaces.names.push_back(bodies.body(n).name);
  surfaces.solid = [&](const Box& cells) { return bodies.solid(cells); };
  surfaces.cuts = [&](const Box& cells, const std::vector<Direction>& directions) {
    return bodies.cuts(cells, directions);
  };
  return surfaces;
}

namespace {

nb::list loads(lbm::Lbm& lbm, const Point& about) {
  std::vector<lbm::Load> all;
  {
    nb::gil_scoped_release release;
    all = lbm.loads(about);
  }
  nb::list list;
  for (const lbm::Load& load : all) {
    nb::dict entry;
    entry["name"] = load.name;
    entry["force"] = load.force;
    entry["moment"] = load.moment;
    list.append(entry);
  }
  return list;
}

}  // namespace

void bind_bodies(nb::module_& m) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Mesh>(m, "Mesh", "A surface of triangles that share vertices.")
      .def("__len__", [](const Mesh& self) { return self.triangles.size(); })
      .def_static("read", &read_mesh, nb::arg("path"), Release())
      .def_static("of", &mesh_of, nb::arg("vertices"), nb::arg("triangles"))
      .def_static("sphere", &make_sphere, nb::arg("centre"), nb::arg("radius"), nb::arg("refinements"))
      .def_static("spheres", &spheres_of, nb::arg("centres"), nb::arg("radius"), nb::arg("refinements"))
      .def_static("box", &make_box, nb::arg("lo"), nb::arg("hi"))
      .def("part", &select_part, nb::arg("name"))
      .def("weld", &weld, nb::arg("tolerance"), Release())
      .def("oriented", &oriented, Release())
      .def("transformed", &transformed_by, nb::arg("units"), nb::arg("scale"), nb::arg("rotate"), nb::arg("translate"))
      .def("require_inside", [](const Mesh& self, const std::string& name, double spacing, const Extent& cells) {
        require_inside(bounds(self), name, domain_of(spacing, cells));
      });
  nb::class_<Bodies>(m, "Bodies", "Named closed surfaces on the cells of a grid.")
      .def("solid_cells", [](const Bodies& self, const Extent& lo, const Extent& hi) {
        return self.solid_cells({lo, hi});
      });
  m.def("make_bodies", &bodies_of, nb::arg("named"), nb::arg("spacing"), nb::arg("cells"), Release());
  m.def("loads", &loads, nb::arg("lbm"), nb::arg("about"));
}

}  // namespace slipstream::python

// Bindings for bodies of the lattice Boltzmann solver: links, their memory, and loads.
#include <algorithm>
#include <array>
#include <cmath>

#include <slipstream/mesh.hpp>

#include <nanobind/stl/pair.h>

#include "api/lbm/python_lbm.hpp"
#include "api/reading.hpp"
#include "solver/lbm/lattice/fields.hpp"
#include "solver/lbm/links/boundary_cells.hpp"

namespace slipstream::python {
namespace {

using Triangle = std::array<Point, 3>;  ///< corners of a triangle in units of cells

Point between(const Point& a, const Point& b) { return {(a[0] + b[0]) / 2, (a[1] + b[1]) / 2, (a[2] + b[2]) / 2}; }

/// Calls f with pieces of a triangle whose sides are at most 8 cells long.
template <class F>
void in_pieces(const Triangle& t, const F& f) {
  double longest = 0;
  for (int v = 0; v < 3; ++v)
    for (int a = 0; a < 3; ++a) longest = std::max(longest, std::abs(t[v][a] - t[(v + 1) % 3][a]));
  if (longest <= 8) return f(t);
  const Point p = between(t[0], t[1]), q = between(t[1], t[2]), r = between(t[2], t[0]);
  for (const Triangle& piece : {Triangle{t[0], p, r}, Triangle{p, t[1], q}, Triangle{r, q, t[2]}, Triangle{p, q, r}})
    in_pieces(piece, f);
}

bool is_half_way(const std::string& links) {
  return one_of<bool>(links, {{"interpolated", false}, {"half-way", true}}, "kind of links");
}

/// Estimated numbers of links that cut a triangle from its fluid side, and of cells with such links. The number of
/// links is the triangle's area times half the sum of |c . n| over the velocities. A cell has such a link if its
/// distance from the triangle is at most the largest |c . n|.
struct Beside {
  double links = 0, cells = 0;
};
template <class L>
Beside beside(const Triangle& t) {
  Point u, v;
  for (int a = 0; a < 3; ++a) {
    u[a] = t[1][a] - t[0][a];
    v[a] = t[2][a] - t[0][a];
  }
  const Point normal{u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                     u[0] * v[1] - u[1] * v[0]};  // vector product: its length is twice the triangle's area
  double sum = 0, longest = 0;
  for (const auto& c : L::velocity) {
    const double across = std::abs(c[0] * normal[0] + c[1] * normal[1] + c[2] * normal[2]);
    sum += across;
    longest = std::max(longest, across);
  }
  return {sum / 4, longest / 2};
}

/// Estimated bytes, by block, of the lattice links that a body's mesh cuts; if moments are stored, also of the fluid
/// cells beside it. Uses the area of its triangles. `links`: kind of bounce-back, "interpolated" or "half-way".
std::vector<std::int64_t> link_bytes(const Mesh& mesh, double spacing,
                                     const std::vector<std::pair<Extent, Extent>>& blocks, const std::string& lattice,
                                     const std::string& representation, const std::string& precision,
                                     const std::string& links) {
  std::vector<Beside> found(blocks.size());
  std::size_t last = 0;
  const auto block_of = [&](const Point& p) {
    const auto holds = [&](std::size_t n) {
      for (int a = 0; a < 3; ++a)
        if (p[a] < static_cast<double>(blocks[n].first[a]) || p[a] >= static_cast<double>(blocks[n].second[a]))
          return false;
      return true;
    };
    // The last block found is tried first, because successive triangles mostly lie in one block.
    if (holds(last)) return last;
    for (std::size_t n = 0; n < blocks.size(); ++n)
      if (holds(n)) return last = n;
    return blocks.size();
  };
  for (const auto& corners : mesh.triangles) {
    Triangle whole;
    for (int v = 0; v < 3; ++v)
      for (int a = 0; a < 3; ++a) whole[v][a] = mesh.vertices[corners[v]][a] / spacing;
    in_pieces(whole, [&](const Triangle& t) {
      Point middle;
      for (int a = 0; a < 3; ++a) middle[a] = (t[0][a] + t[1][a] + t[2][a]) / 3;
      const std::size_t block = block_of(middle);
      if (block == blocks.size()) return;
      const Beside here = lattice == "D3Q27" ? beside<lbm::D3Q27>(t) : beside<lbm::D3Q19>(t);
      found[block].links += here.links;
      found[block].cells += here.cells;
    });
  }
  const bool interpolated = !is_half_way(links), moments = representation == "moments";
  const std::int64_t cell = moments ? lbm::boundary_cell_bytes(dtype_from_string(precision), interpolated) : 0;
  std::vector<std::int64_t> bytes;
  for (const Beside& here : found) {
    const lbm::NearBodies beside{std::llround(here.links), std::llround(here.cells)};
    bytes.push_back(lbm::body_link_bytes(beside,
                                         moments ? lbm::Representation::moments : lbm::Representation::populations,
                                         interpolated) +
                    beside.cells * cell);
  }
  return bytes;
}

nb::list loads(lbm::Lbm& lbm, const Point& about) {
  std::vector<lbm::Load> all;
  {
    Released release;
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

lbm::Surfaces surfaces_of(const Bodies& bodies, const std::vector<std::string>& links) {
  lbm::Surfaces surfaces;
  for (const std::string& kind : links) surfaces.half_way.push_back(is_half_way(kind));
  for (std::int64_t n = 0; n < bodies.count(); ++n) surfaces.names.push_back(bodies.body(n).name);
  surfaces.solid = [&](const Box& cells) { return bodies.solid(cells); };
  surfaces.cuts = [&](const Box& cells, const std::vector<Direction>& directions) {
    return bodies.cuts(cells, directions);
  };
  return surfaces;
}

void bind_bodies_of_lbm(nb::module_& m) {
  m.def("link_bytes", &link_bytes, nb::arg("mesh"), nb::arg("spacing"), nb::arg("blocks"), nb::arg("lattice"),
        nb::arg("representation"), nb::arg("precision"), nb::arg("links"), nb::call_guard<Released>());
  m.def("loads", &loads, nb::arg("lbm"), nb::arg("about"));
}

}  // namespace slipstream::python

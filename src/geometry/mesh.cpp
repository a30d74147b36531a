#include <slipstream/mesh.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <numbers>

#include <slipstream/error.hpp>

#include "device/decimal_point.hpp"
#include "geometry/mesh_vectors.hpp"

namespace slipstream {
namespace {

double metres_per(const std::string& units) {
  static const std::map<std::string, double> table{{"m", 1},     {"cm", 1e-2},   {"mm", 1e-3},  {"um", 1e-6},
                                                   {"km", 1000}, {"in", 0.0254}, {"ft", 0.3048}};
  const auto found = table.find(units);
  require(found != table.end(), "units '" + units + "' of a mesh are unknown: choose one of m, cm, mm, um, km, in, ft",
          {{"option", "units"}, {"given", units}});
  return found->second;
}

// Sines and cosines are exact for multiples of 90 degrees, so that an axis-aligned box stays aligned after a rotation.
double sine_of_degrees(double angle) {
  const double quarters = angle / 90;
  if (quarters == std::nearbyint(quarters)) {
    const double turn = std::fmod(quarters, 4);
    return turn == 1 || turn == -3 ? 1 : turn == 3 || turn == -1 ? -1 : 0;
  }
  return std::sin(angle * std::numbers::pi / 180);
}

Point turned(Point p, int axis, double sine, double cosine) {
  const int b = (axis + 1) % 3, c = (axis + 2) % 3;
  const double pb = p[b], pc = p[c];
  p[b] = cosine * pb - sine * pc;
  p[c] = sine * pb + cosine * pc;
  return p;
}

}  // namespace

std::string to_text(double value) {
  const DecimalPoint point;
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string to_text(const Point& p) {
  const DecimalPoint point;
  char text[96];
  std::snprintf(text, sizeof text, "(%.6g, %.6g, %.6g)", p[0], p[1], p[2]);
  return text;
}

void Bounds::include(const Point& p) {
  for (int a = 0; a < 3; ++a) {
    lo[a] = std::min(lo[a], p[a]);
    hi[a] = std::max(hi[a], p[a]);
  }
}

double Bounds::diagonal() const { return length(extents()); }

Bounds bounds(const Mesh& mesh) {
  Bounds result;
  for (const auto& triangle : mesh.triangles)
    for (const auto v : triangle) result.include(mesh.vertices[v]);
  return result;
}

double area(const Mesh& mesh) {
  double sum = 0;
  for (const auto& [a, b, c] : mesh.triangles)
    sum += length(cross(mesh.vertices[b] - mesh.vertices[a], mesh.vertices[c] - mesh.vertices[a]));
  return sum / 2;
}

double volume(const Mesh& mesh) {
  if (mesh.triangles.empty()) return 0;
  // Volumes of tetrahedra are measured from a vertex of the mesh, because a distant origin would cause cancellation.
  const Point apex = mesh.vertices[mesh.triangles[0][0]];
  double sum = 0;
  for (const auto& [a, b, c] : mesh.triangles)
    sum += dot(mesh.vertices[a] - apex, cross(mesh.vertices[b] - apex, mesh.vertices[c] - apex));
  return sum / 6;
}

Mesh transformed(const Mesh& mesh, const MeshTransform& transform) {
  require(std::isfinite(transform.scale) && transform.scale > 0,
          "the scale of a mesh is " + to_text(transform.scale) + ": it must be positive",
          {{"option", "scale"}, {"given", transform.scale}});
  require(finite(transform.rotate), "the rotation of a mesh is " + to_text(transform.rotate) + ": it must be finite",
          {{"option", "rotate"}});
  require(finite(transform.translate),
          "the translation of a mesh is " + to_text(transform.translate) + ": it must be finite",
          {{"option", "translate"}});
  const double factor = metres_per(transform.units) * transform.scale;
  Mesh result = mesh;
  for (Point& p : result.vertices) p = factor * p;
  for (int axis = 0; axis < 3; ++axis) {
    if (transform.rotate[axis] == 0) continue;
    const double sine = sine_of_degrees(transform.rotate[axis]), cosine = sine_of_degrees(transform.rotate[axis] + 90);
    for (Point& p : result.vertices) p = turned(p, axis, sine, cosine);
  }
  for (Point& p : result.vertices) p = p + transform.translate;
  return result;
}

Mesh select_part(const Mesh& mesh, const std::string& part) {
  const auto found = std::find(mesh.parts.begin(), mesh.parts.end(), part);
  if (found == mesh.parts.end()) {
    std::string names;
    for (const std::string& name : mesh.parts) names += (names.empty() ? "'" : ", '") + name + "'";
    throw Error(ErrorCode::not_found, "a mesh has no part '" + part + "': its parts are " + names,
                {{"part", part}, {"choices", names}});
  }
  const auto number = static_cast<std::int32_t>(found - mesh.parts.begin());
  Mesh result;
  result.parts = {part};
  std::vector<std::int32_t> place(mesh.vertices.size(), -1);
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    if (mesh.part[t] != number) continue;
    auto triangle = mesh.triangles[t];
    for (auto& v : triangle) {
      if (place[v] < 0) {
        place[v] = static_cast<std::int32_t>(result.vertices.size());
        result.vertices.push_back(mesh.vertices[v]);
      }
      v = place[v];
    }
    result.triangles.push_back(triangle);
    result.part.push_back(0);
  }
  return result;
}

Mesh join(const Mesh& a, const Mesh& b) {
  Mesh result = a;
  const auto vertices = static_cast<std::int32_t>(a.vertices.size()), parts = static_cast<std::int32_t>(a.parts.size());
  result.vertices.insert(result.vertices.end(), b.vertices.begin(), b.vertices.end());
  result.parts.insert(result.parts.end(), b.parts.begin(), b.parts.end());
  for (auto triangle : b.triangles) {
    for (auto& v : triangle) v += vertices;
    result.triangles.push_back(triangle);
  }
  for (const auto part : b.part) result.part.push_back(part + parts);
  return result;
}

}  // namespace slipstream

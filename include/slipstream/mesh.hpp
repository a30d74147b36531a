#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <slipstream/box.hpp>

namespace slipstream {

/// A position or a displacement, x first; metres once a mesh has been transformed.
using Point = std::array<double, 3>;

/// A surface of triangles that share vertices. The front side is that from which the vertices go counter-clockwise; the
/// front sides of a body face the fluid.
struct Mesh {
  std::vector<Point> vertices;
  std::vector<std::array<std::int32_t, 3>> triangles;  ///< indices into `vertices`, three per triangle
  std::vector<std::int32_t> part;                      ///< part of each triangle, as an index into `parts`
  std::vector<std::string> parts;                      ///< names of parts: objects and groups of OBJ, solids of STL
};

/// Axis-aligned bounding box; empty at first.
struct Bounds {
  Point lo{infinity, infinity, infinity};
  Point hi{-infinity, -infinity, -infinity};

  void include(const Point& p);
  Point extents() const { return {hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]}; }
  double diagonal() const;

  static constexpr double infinity = std::numeric_limits<double>::infinity();
};
/// Bounding box of the vertices that triangles use.
Bounds bounds(const Mesh& mesh);
double area(const Mesh& mesh);
/// Volume enclosed by a watertight mesh; negative where it is inside out.
double volume(const Mesh& mesh);

/// Reads an OBJ or STL file, by its file name extension. OBJ: polygons (concave ones are triangulated, too), negative
/// indices, the names of objects and groups. A hash sign begins a comment at the start of a line or after a blank. A
/// backslash at the end joins a line that continues with a number. STL: ASCII or binary, told apart by the content.
/// Both: keywords in small or capital letters; lines that end with LF, CR LF or CR; with or without a byte-order mark.
/// Names are UTF-8, else Latin-1. Vertices at the same position become one. Throws Error with the path, and the line
/// where there is one. The file may be missing, cut short, damaged, UTF-16, or without triangles. It may have
/// coordinates that are not numbers, faces with missing vertices, or curved surfaces.
Mesh read_mesh(const std::string& path);
/// Writes a mesh as OBJ (one object per part) or binary STL (rounded to f32), by the extension of the path.
void write_mesh(const std::string& path, const Mesh& mesh);

/// Merges vertices that lie at most `tolerance` apart per axis, and chains of such; 0 merges equal ones.
Mesh weld(const Mesh& mesh, double tolerance = 0);
/// The triangles of one part. Throws Error, which lists the names, where there is no such part.
Mesh select_part(const Mesh& mesh, const std::string& part);
/// Joins two meshes: all triangles and parts of both.
Mesh join(const Mesh& a, const Mesh& b);

/// Transforms a mesh file's coordinates to positions in the domain: units, scale, rotation, translation, in this order.
struct MeshTransform {
  std::string units = "m";  ///< unit of the file: m, cm, mm, um, km, in, ft
  double scale = 1;
  /// rotation in degrees about x, then y, then z, through the origin; quarter turns are exact
  Point rotate{0, 0, 0};
  Point translate{0, 0, 0};  ///< translation in metres
};
/// Returns the transformed mesh. Throws Error for unknown units, a scale <= 0, or values that are not finite.
Mesh transformed(const Mesh& mesh, const MeshTransform& transform);

/// Defects of a mesh: those that leave it without an inside, and harmless ones.
struct MeshFlaws {
  /// Number of defects of one kind, and places of the first few (middles of edges and triangles).
  struct Kind {
    std::int64_t count = 0;
    std::vector<Point> places;
  };
  /// A hole: open edges that are connected.
  struct Hole {
    Point centre{0, 0, 0};
    double size = 0;  ///< diagonal of the hole's bounding box
    std::int64_t edges = 0;
  };
  Kind open_edges;          ///< edges used by one triangle
  Kind odd_edges;           ///< edges used by an odd number of triangles, three or more
  Kind turned_edges;        ///< edges between triangles that face opposite ways
  Kind flat_triangles;      ///< triangles of no area: harmless
  Kind duplicates;          ///< triangles with the vertices of an earlier one
  std::vector<Hole> holes;  ///< holes, the largest first
  bool inside_out = false;  ///< whether the mesh is watertight but encloses a negative volume: harmless

  bool watertight() const { return open_edges.count == 0 && odd_edges.count == 0 && turned_edges.count == 0; }
  /// Describes the flaws in one sentence; "watertight" where nothing is wrong.
  std::string to_string() const;
};
MeshFlaws find_flaws(const Mesh& mesh);
/// Throws Error that says where the mesh leaks and what would close it.
void require_watertight(const Mesh& mesh, const std::string& name);
/// Flips triangles so that neighbours face the same way, that of the majority of their shell.
Mesh oriented(const Mesh& mesh);

/// A domain made of whole blocks of cubic cells.
struct MeshDomain {
  Point origin{0, 0, 0};  ///< position of the low corner of cell (0, 0, 0)
  double spacing = 1;     ///< length of a cell's edge
  Extent cells{0, 0, 0};
  Extent blocks{0, 0, 0};  ///< number of blocks along each axis
  std::array<bool, 3> periodic{false, false, false};
};
struct MeshDomainOptions {
  double spacing = 0;
  Point margin_low{0, 0, 0};  ///< metres to keep free on each side of the bounding box
  Point margin_high{0, 0, 0};
  Extent block{1, 1, 1};  ///< number of cells of a block along each axis
  /// Axes whose low side stays where the margin puts it (a road under a car). Along the others, the extension to whole
  /// blocks is added on both sides, the odd cell on the high one.
  std::array<bool, 3> keep_low{false, false, false};
  std::string unit = "m";  ///< unit of all lengths, for messages: m or cells
};
/// The domain round a body (Zheng 2023, 1.1): bounding box and margins, extended until blocks of the given size fill
/// it.
MeshDomain fit_domain(const Bounds& body, const MeshDomainOptions& options);

/// Throws Error where a body lies outside of the domain, is smaller than a cell or far larger than the domain. With
/// lengths in m it names the confusion of units that would explain the size, if there is one; in cells, a scale that
/// would fit.
void require_inside(const Bounds& body, const std::string& name, const MeshDomain& domain,
                    const std::string& unit = "m");

/// Whether a body is longer than the domain along an axis.
bool longer_than(const MeshDomain& domain, const Bounds& body, int axis);
/// Shifts, in periods of the domain, of the images of a body that come within `reach` cells of the domain, {0, 0, 0}
/// first. There are no images along axes that are not periodic, or along which the body is longer than the domain.
std::vector<Extent> image_shifts(const Bounds& body, const MeshDomain& domain, std::int64_t reach);
/// Joins a mesh with its periodic images, shifted by image_shifts().
Mesh with_images(const Mesh& mesh, const MeshDomain& domain, std::int64_t reach);

/// Closed surfaces of simple bodies, facing outwards. A sphere is a refined icosahedron with vertices on the sphere;
/// each refinement splits every triangle into four: 20 * 4^refinements.
Mesh make_sphere(const Point& centre, double radius, int refinements);
Mesh make_box(const Point& lo, const Point& hi);
/// A torus round the z axis: `rings` segments along the large circle, `sides` along the small one.
Mesh make_torus(const Point& centre, double ring_radius, double tube_radius, int rings, int sides);

}  // namespace slipstream

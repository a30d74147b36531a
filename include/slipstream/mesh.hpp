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

/// A surface made of triangles that share vertices. Front sides are those from which a triangle turns
/// counter-clockwise; those of a body face the fluid.
struct Mesh {
  std::vector<Point> vertices;
  std::vector<std::array<std::int32_t, 3>> triangles;  ///< places in `vertices`
  std::vector<std::int32_t> part;                      ///< of each triangle: place in `parts`
  std::vector<std::string> parts;                      ///< names: objects and groups of OBJ, solids of STL
};

/// The smallest box that holds all of something; nothing at first.
struct Bounds {
  Point lo{infinity, infinity, infinity};
  Point hi{-infinity, -infinity, -infinity};

  void include(const Point& p);
  Point extents() const { return {hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]}; }
  double diagonal() const;

  static constexpr double infinity = std::numeric_limits<double>::infinity();
};
/// Of the vertices that triangles use.
Bounds bounds(const Mesh& mesh);
double area(const Mesh& mesh);
/// Enclosed by a watertight mesh; negative where it is inside out.
double volume(const Mesh& mesh);

/// Reads an OBJ or STL file, named by its ending. OBJ: polygons (concave ones, too, are cut within their outline),
/// negative indices, the names of objects and groups; # begins a comment at the start of a line or behind a blank, and
/// a backslash at the end joins a line that goes on with a number. STL: ASCII or binary, told apart by what the file
/// holds. Both: keywords in small or capital letters, lines that end with LF, CR LF or CR, with or without a byte-order
/// mark; UTF-8, or Latin-1 where names are not UTF-8. Vertices at the same position become one. Throws Error with the
/// path, and the line where there is one: file missing, cut short or damaged, no triangles, coordinates that are no
/// numbers, faces with vertices that are not there, curved surfaces, UTF-16.
Mesh read_mesh(const std::string& path);
/// Writes OBJ (one object per part) or binary STL (rounded to f32), by the ending of the path.
void write_mesh(const std::string& path, const Mesh& mesh);

/// Makes one vertex of those that lie at most `tolerance` apart per axis, or of chains of such; 0 joins equal ones.
Mesh weld(const Mesh& mesh, double tolerance = 0);
/// The triangles of one part. Throws Error that lists the names where there is none such.
Mesh select_part(const Mesh& mesh, const std::string& part);
/// All triangles of both, with the parts of both.
Mesh join(const Mesh& a, const Mesh& b);

/// How a file's coordinates become positions in the domain: in this order.
struct MeshTransform {
  std::string units = "m";  ///< of the file: m, cm, mm, um, km, in, ft
  double scale = 1;
  Point rotate{0, 0, 0};     ///< degrees about x, then y, then z, through the origin; quarter turns are exact
  Point translate{0, 0, 0};  ///< metres
};
/// Throws Error for units unknown, a scale that is not positive, values that are not finite.
Mesh transformed(const Mesh& mesh, const MeshTransform& transform);

/// What keeps a mesh from having an inside, and what is odd about it.
struct MeshFlaws {
  /// How many, and where the first few are (middles of edges and triangles).
  struct Kind {
    std::int64_t count = 0;
    std::vector<Point> places;
  };
  /// Open edges that hang together.
  struct Hole {
    Point centre{0, 0, 0};
    double size = 0;  ///< diagonal of its bounding box
    std::int64_t edges = 0;
  };
  Kind open_edges;          ///< used by one triangle
  Kind odd_edges;           ///< used by three triangles, or five, ...
  Kind turned_edges;        ///< between triangles that face opposite ways
  Kind flat_triangles;      ///< of no area: harmless
  Kind duplicates;          ///< triangles with the vertices of an earlier one
  std::vector<Hole> holes;  ///< the largest first
  bool inside_out = false;  ///< watertight, but encloses a negative volume: harmless

  bool watertight() const { return open_edges.count == 0 && odd_edges.count == 0 && turned_edges.count == 0; }
  /// One sentence; "watertight" where nothing is wrong.
  std::string to_string() const;
};
MeshFlaws find_flaws(const Mesh& mesh);
/// Throws Error that says where the mesh leaks and what would close it.
void require_watertight(const Mesh& mesh, const std::string& name);
/// Turns triangles round until neighbours face the same way, as most of their shell did before.
Mesh oriented(const Mesh& mesh);

/// A domain made of whole blocks of cubic cells.
struct MeshDomain {
  Point origin{0, 0, 0};  ///< low corner of cell (0, 0, 0)
  double spacing = 1;     ///< edge of a cell
  Extent cells{0, 0, 0};
  Extent blocks{0, 0, 0};  ///< per axis
  std::array<bool, 3> periodic{false, false, false};
};
struct MeshDomainOptions {
  double spacing = 0;
  Point margin_low{0, 0, 0};  ///< metres to keep free on each side of the bounding box
  Point margin_high{0, 0, 0};
  Extent block{1, 1, 1};  ///< cells of a block
  /// Axes whose low side stays where the margin puts it (a road under a car); along the others, what whole blocks need
  /// more is added to both sides, the odd cell to the high one.
  std::array<bool, 3> keep_low{false, false, false};
  std::string unit = "m";  ///< of all lengths, for messages: m or cells
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
/// By how many periods of the domain the images of a body are moved that come within `reach` cells of it, {0, 0, 0}
/// first. No images along axes that are not periodic, or along which the body is longer than the domain.
std::vector<Extent> image_shifts(const Bounds& body, const MeshDomain& domain, std::int64_t reach);
/// A mesh with these images.
Mesh with_images(const Mesh& mesh, const MeshDomain& domain, std::int64_t reach);

/// Closed surfaces of simple bodies, facing outwards. A sphere begins as an icosahedron with vertices on it; each
/// refinement cuts every triangle into four: 20 * 4^refinements.
Mesh make_sphere(const Point& centre, double radius, int refinements);
Mesh make_box(const Point& lo, const Point& hi);
/// Round the z axis; `rings` along the large circle, `sides` along the small one.
Mesh make_torus(const Point& centre, double ring_radius, double tube_radius, int rings, int sides);

}  // namespace slipstream

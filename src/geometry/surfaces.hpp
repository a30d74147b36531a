#pragma once
#include <cstdint>
#include <vector>

#include <slipstream/bodies.hpp>
#include <slipstream/mesh.hpp>

namespace slipstream {

/// Tolerance of distances in cells. Points closer than this count as one, because rounding may have separated them. A
/// cell centre closer than this to a surface has no reliable side: the lines along x decide it, for all directions.
constexpr double blurred = 1e-9;

/// Surfaces of all bodies in units of cells; cell (i, j, k) has its centre at (i, j, k). Triangles are grouped by body.
struct Surfaces {
  std::vector<Point> vertices;
  std::vector<std::array<std::int32_t, 3>> triangles;
  /// index of the first triangle of each body; the last entry is the number of triangles
  std::vector<std::int64_t> first;
  /// Number of triangles in each body's mesh; its periodic images follow in the same order
  std::vector<std::int64_t> own;
};
/// Makes the surfaces of bodies with their periodic images within `reach` cells of the domain. Throws Error if there
/// are too many triangles for their index type.
Surfaces surfaces_of(const std::vector<Body>& bodies, const MeshDomain& domain, std::int64_t reach);

/// Lines through cell centres along a direction whose first nonzero component is +1. A line advances one step along
/// axis `u` per link. Its index (v, w) is its position in the plane u = 0.
struct LineFamily {
  explicit LineFamily(const Direction& along);

  int u, v, w;          ///< axes of lattice lines: one link of a line advances one cell along u; v, w are the others
  std::int64_t dv, dw;  ///< slopes of the lattice lines: cells along the two other axes per cell along the main one
  Extent cell(std::int64_t line_v, std::int64_t line_w, std::int64_t step) const;
  /// Range of the two indices of all lines in this direction through a box of cells, as a box with extent 1 along z.
  Box lines_through(const Box& cells) const;
};

/// Segment of a line inside a body; `in` and `out` are in steps along the line. Touching segments are merged.
struct Inside {
  std::int32_t v, w;  ///< index of the line in its family of parallel lines
  std::int32_t body;
  std::int32_t triangle_in, triangle_out;  ///< triangles at which the line enters and leaves the body
  double in, out;
};

/// Finds the segments of parallel lines inside bodies. Triangles are sorted into tiles: bundles of neighbouring lines.
class LineIndex {
 public:
  /// Sorts surface triangles by the parallel lattice lines that may intersect them. Only lines through `cells` count.
  LineIndex(const Surfaces& surfaces, const Direction& along, const Box& cells);

  const LineFamily& family() const { return family_; }
  /// Indices of the tiles (bundles of lines) with triangles of surfaces and with lines through a box of cells.
  std::vector<std::int64_t> tiles_through(const Box& cells) const;
  /// False if no surface triangle of a tile (a bundle of parallel lines) is near the box: no link of its cells is cut.
  bool surface_near(std::int64_t tile, const Box& cells) const;
  /// Segments inside bodies, of a bundle of parallel lines (tile) through a box; sorted by line, body and position.
  std::vector<Inside> inside(std::int64_t tile, const Box& cells) const;

 private:
  Box tile_lines(std::int64_t tile) const;
  void sort_into_tiles();
  /// Range of tiles, groups of parallel grid lines, whose lines may intersect a triangle of a surface.
  Box tiles_of(std::size_t triangle) const;

  const Surfaces& surfaces_;
  LineFamily family_;
  Box lines_;              ///< ranges of the two indices that number the parallel lattice lines
  Extent tiles_{0, 0, 1};  ///< number of tiles (bundles of parallel lines) along the two axes of line indices
  /// Vertices of the surfaces, sheared so that the lattice lines become parallel to one axis, at integer coordinates
  std::vector<Point> sheared_;
  /// for each tile (bundle of lines), index of its first triangle in listed_; the last element is the size of listed_
  std::vector<std::int64_t> first_;
  std::vector<std::int32_t> listed_;
};

}  // namespace slipstream

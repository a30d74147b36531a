#pragma once
#include <cstdint>
#include <vector>

#include <slipstream/bodies.hpp>
#include <slipstream/mesh.hpp>

namespace slipstream {

/// In cells. What lies closer together is one place: rounding alone may have parted it. Closer than this to a surface,
/// rounding decides on which side of it a cell's centre is; the lines along x decide it, for all directions.
constexpr double blurred = 1e-9;

/// The surfaces of all bodies in units of cells: cell (i, j, k) has its centre at (i, j, k). Triangles of one body
/// follow one another.
struct Surfaces {
  std::vector<Point> vertices;
  std::vector<std::array<std::int32_t, 3>> triangles;
  std::vector<std::int64_t> first;  ///< triangle of each body, and their number
  std::vector<std::int64_t> own;    ///< triangles of each body's mesh; those of its images follow, in the same order
};
/// With the images within `reach` cells of the domain. Throws Error where triangles cannot be numbered.
Surfaces surfaces_of(const std::vector<Body>& bodies, const MeshDomain& domain, std::int64_t reach);

/// The lines through cell centres along a direction whose first component that is not 0 is +1. Along axis `u` the line
/// makes one step per link; it is named by where it meets u = 0, its numbers (v, w) along the two other axes.
struct LineFamily {
  explicit LineFamily(const Direction& along);

  int u, v, w;          ///< axes
  std::int64_t dv, dw;  ///< what a step along u adds to the two others
  Extent cell(std::int64_t line_v, std::int64_t line_w, std::int64_t step) const;
  /// The numbers v and w of all lines that meet a box: {v.lo, w.lo, 0} to {v.hi, w.hi, 1}.
  Box lines_through(const Box& cells) const;
};

/// A piece of a line inside of a body, in steps along it. Pieces that touch are one.
struct Inside {
  std::int32_t v, w;  ///< the line
  std::int32_t body;
  std::int32_t triangle_in, triangle_out;  ///< of all bodies' triangles
  double in, out;
};

/// Finds where lines of one family run inside of bodies. Triangles are sorted into tiles of lines.
class LineIndex {
 public:
  /// `cells`: the lines through this box are all that will be asked for.
  LineIndex(const Surfaces& surfaces, const Direction& along, const Box& cells);

  const LineFamily& family() const { return family_; }
  /// Tiles with triangles that hold lines through a box.
  std::vector<std::int64_t> tiles_through(const Box& cells) const;
  /// False where none of a tile's triangles comes near the cells of a box: their links cannot be cut then.
  bool surface_near(std::int64_t tile, const Box& cells) const;
  /// The pieces inside of bodies of a tile's lines through a box: by line (w, v), then body, then place.
  std::vector<Inside> inside(std::int64_t tile, const Box& cells) const;

 private:
  Box tile_lines(std::int64_t tile) const;
  void sort_into_tiles();
  /// The tiles whose lines a triangle may meet.
  Box tiles_of(std::size_t triangle) const;

  const Surfaces& surfaces_;
  LineFamily family_;
  Box lines_;                        ///< numbers v and w
  Extent tiles_{0, 0, 1};            ///< along v and w
  std::vector<Point> sheared_;       ///< vertices as (u, v, w): lines stand upright on whole (v, w)
  std::vector<std::int64_t> first_;  ///< of each tile in listed_, and their number
  std::vector<std::int32_t> listed_;
};

}  // namespace slipstream

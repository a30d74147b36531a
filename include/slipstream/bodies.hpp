#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/box.hpp>
#include <slipstream/cut.hpp>
#include <slipstream/mesh.hpp>
#include <slipstream/stencil.hpp>

namespace slipstream {

/// A named closed surface in the domain, in metres.
struct Body {
  std::string name;
  Mesh mesh;
  /// Axes along which the mesh itself goes on beyond periodic sides as far as it is seen.
  std::array<bool, 3> continued{false, false, false};
};

/// Bodies on the cells of a uniform grid: which cells are inside, and where lattice links meet the surface.
///
/// Both come from one method. Lines through cell centres are met with the surface in two cuts: a plane with the
/// triangles, then a line with the segments that remain. A vertex exactly on a plane or line counts as below it, and
/// points on an edge are computed from the edge alone, so both triangles of an edge see the same point. Hence each cut
/// of a closed surface is closed, whatever rounding does: along every line the surface is left as often as it is
/// entered, and no line leaks. A cell is inside where the winding number is not zero: overlapping shells unite.
///
/// What leaves the domain at a periodic side comes in at the other: a body is joined by its images. One that is longer
/// than the domain along a periodic axis has none along it, and must look the same at both sides.
///
/// All positions come from global cell numbers: what is found does not depend on the boxes that are asked for, nor on
/// the number of threads (those of the process's pool, see set_host_threads).
class Bodies {
 public:
  /// Cells are cubes with edge `domain.spacing`; `ghosts` layers round the domain may be asked for as well. Throws
  /// Error for names that are empty or not unique, for more than 65535 bodies, for a surface that is not watertight and
  /// for a body that is longer than the period and does not look the same at both sides.
  Bodies(std::vector<Body> bodies, const MeshDomain& domain, std::int64_t ghosts = 1);
  Bodies(Bodies&&) noexcept;
  Bodies& operator=(Bodies&&) noexcept;
  ~Bodies();

  std::int64_t count() const;
  const Body& body(std::int64_t number) const;
  /// Throws Error that lists the names where there is none such.
  std::int64_t number_of(const std::string& name) const;

  /// For each cell of a box [z][y][x]: 0 where it is fluid, else 1 + the number of the (first) body that holds its
  /// centre. A centre on the surface is inside where the body
  /// begins along an axis, and outside where it ends.
  std::vector<std::uint16_t> solid(const Box& cells) const;
  void solid(const Box& cells, std::uint16_t* out) const;
  /// How many cells of a box are inside of bodies; takes no memory per cell. All of them: the block can be dropped.
  std::int64_t solid_cells(const Box& cells) const;

  /// Of each body, how many cells of a box have their centre in it, also where another body holds them, too.
  std::vector<std::int64_t> centres(const Box& cells) const;

  /// The links from fluid cells of a box that meet a surface, along directions with components -1, 0, 1: all links that
  /// lead to a solid cell, and those that cross a wall thinner than a link. In the order of memory (z, y, x), then of
  /// directions. The cost lies in the lines through the box: one box round neighbouring blocks is cheaper than many.
  std::vector<Cut> cuts(const Box& cells, const std::vector<Direction>& directions) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream

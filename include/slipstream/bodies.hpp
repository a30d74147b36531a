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
  /// Axes along which the mesh itself goes on beyond the periodic sides, so that it gets no periodic images along them.
  std::array<bool, 3> continued{false, false, false};
};

/// Bodies on the cells of a uniform grid: which cells are inside, and where lattice links meet the surface.
///
/// Both come from one method: lines through cell centres are intersected with the surface in two cuts. A plane cuts the
/// triangles, then a line cuts the segments that remain. A vertex exactly on a plane or line counts as below it. Points
/// on an edge are computed from the edge alone, so both its triangles see the same point. Hence each cut of a closed
/// surface is closed, whatever the rounding. Along every line the surface is left as often as it is entered, and no
/// line leaks. A cell is inside where the winding number is not zero, so overlapping shells unite.
///
/// Bodies are periodic along periodic axes: a part beyond one side appears at the other, as an image of the body. A
/// body that is longer than the domain along such an axis has no images along it. It must look the same at both sides.
///
/// All positions come from global cell numbers. So results do not depend on the boxes of the queries, nor on the number
/// of threads (those of the process's pool, see set_host_threads).
class Bodies {
 public:
  /// Cells are cubes with edge `domain.spacing`. Queries may include `ghosts` layers round the domain. Throws Error for
  /// names that are empty or not unique, more than 65535 bodies, and a surface that is not watertight. Also throws for
  /// a body that is longer than the period and does not look the same at both sides.
  Bodies(std::vector<Body> bodies, const MeshDomain& domain, std::int64_t ghosts = 1);
  Bodies(Bodies&&) noexcept;
  Bodies& operator=(Bodies&&) noexcept;
  ~Bodies();

  std::int64_t count() const;
  const Body& body(std::int64_t number) const;
  /// The number of a body. Throws Error, which lists the names, where no body has this name.
  std::int64_t number_of(const std::string& name) const;

  /// For each cell of a box [z][y][x]: 0 where the cell is fluid, else 1 + the number of the (first) body that holds
  /// its centre. A centre on the surface is inside where the body begins along an axis, and outside where it ends.
  std::vector<std::uint16_t> solid(const Box& cells) const;
  void solid(const Box& cells, std::uint16_t* out) const;
  /// Number of cells of a box that are inside of bodies; takes no memory per cell. A block whose cells are all solid
  /// can be dropped.
  std::int64_t solid_cells(const Box& cells) const;

  /// For each body, the number of cells of a box whose centre lies in it. A cell counts for every body that holds it.
  std::vector<std::int64_t> centres(const Box& cells) const;

  /// The links from fluid cells of a box that meet a surface, along directions with components -1, 0, 1. These are all
  /// links that lead to a solid cell, and those that cross a wall thinner than a link. They are sorted in the order of
  /// memory (z, y, x), then of directions. The cost lies in the lines through the box: one box round neighbouring
  /// blocks is cheaper than many.
  std::vector<Cut> cuts(const Box& cells, const std::vector<Direction>& directions) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream

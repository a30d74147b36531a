#pragma once
// The coarsest multigrid level: trilinear functions of the elements' corners.
#include <optional>
#include <vector>

#include <slipstream/gather_scatter.hpp>
#include <slipstream/sem.hpp>

#include "solver/sem/multigrid/level.hpp"
#include "solver/sem/multigrid/level_kernels.hpp"

namespace slipstream::sem {

/// Helmholtz operator (factors times stiffness and mass) on trilinear functions of the elements' corners, by Galerkin's
/// method, as a stencil of 27 numbers a vertex. Each device holds all vertices and solves the whole problem. A single
/// gather-scatter distributes the right side. Bits do not depend on devices. A vertex takes 150 B on each device.
///
/// A Chebyshev iteration solves it. Its preconditioner is a sum of Kronecker products of one-dimensional stiffness and
/// mass matrices. Fast diagonalisation inverts it (Lynch, Rice & Thomas 1964): exactly on boxes, whatever the stretch.
/// On bent elements the number of steps follows from the spectrum, which set_up() finds by Lanczos's method.
class CoarseGrid {
 public:
  /// The constructor is collective. `on`: the multigrid level above.
  CoarseGrid(Space& space, const Constraint& constraint, Level& on);
  /// Prepares the operator h1 stiffness + h2 mass. `singular`: constants are in its null space. Collective.
  void set_up(double h1, double h2, bool singular);
  bool loopable() const { return sums_->loopable(); }
  /// Solves for the finer multigrid level's residual. Stores the correction in that level's d, adds it to solution z.
  void correct();

 private:
  void bring();
  void separable(const Singles& r, Singles& out);
  void list_axes(double h1, double h2);
  void find_spectrum();
  void solve();
  Singles whole() const;

  Space& space_;
  Level& on_;
  Vertices vertices_;
  bool singular_ = false;
  int steps_ = 1;
  double largest_ = 1, least_ = 1;
  /// one-dimensional interpolation matrices between an element's points and its two ends
  std::vector<double> to_corners_, to_points_;
  std::int64_t block_ = 8;
  Singles corners_;                  ///< right side, [element][corner], then its sums at all vertices
  std::vector<std::int64_t> begin_;  ///< index of the first vertex in corners_ on each device
  std::optional<GatherScatter> sums_;
  Singles stencil_, free_, inverse_;
  std::array<Singles, 3> axes_;
  Singles r_, x_, d_, q_, t_;
  std::array<std::array<bool, 2>, 3> fixed_{};
};

}  // namespace slipstream::sem

#pragma once
// p-multigrid for elements, a symmetric preconditioner in single precision.
#include <memory>
#include <vector>

#include <slipstream/krylov.hpp>
#include <slipstream/sem.hpp>

#include "solver/sem/multigrid/coarse.hpp"
#include "solver/sem/multigrid/level.hpp"

namespace slipstream::sem {

/// Multigrid preconditioner: V-cycle over orders N, N / 2, N / 4, ... above 1, and the corners of the elements. It has
/// equally many smoothing steps before and after a correction, so it is symmetric except for rounding. Stiffness and
/// mass factors of lower orders are interpolated linearly from the finest order, which keeps them positive.
class Multigrid {
 public:
  /// The constructor is collective; space and constraint must outlive the preconditioner.
  Multigrid(Space& space, const Constraint& constraint, Smoother smoother, int degree);
  /// Sets operator h1 stiffness + h2 mass; `terms` may hold its factors. `singular`: constants map to 0. Collective.
  void set_up(double h1, double h2, const OperatorTerms& terms, bool singular);
  /// Applies a cycle: z approximates the solution for r. Queued on the space's streams.
  void apply(const krylov::Vectors& r, const krylov::Vectors& z);
  /// Whether a graph may contain apply() in a loop that it repeats.
  bool loopable() const;
  /// Time in microseconds of the coarsest problem of a cycle, measured on arbitrary values. Collective; waits.
  double coarse_us();

 private:
  void list_factors(const OperatorTerms& terms);
  void cycle(std::size_t level);

  Space& space_;
  int degree_;
  std::vector<std::unique_ptr<Level>> levels_;
  std::vector<std::vector<double>> down_, up_;  ///< interpolation matrices between a level and the next
  std::unique_ptr<CoarseGrid> coarse_;
};

}  // namespace slipstream::sem

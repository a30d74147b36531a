#pragma once
// Members of solvers on spectral elements, and their work on values at points.
#include <functional>
#include <string>
#include <vector>

#include <slipstream/sem_solver.hpp>

#include "solver/krylov/vector_kernels.hpp"
#include "solver/sem/kernels.hpp"

namespace slipstream::sem {

/// Values of a function; throws Error where their number is another one.
std::vector<double> asked(const Function& function, std::span<const Point> places, double time);

struct ElementParts : SolverParts {
  /// `options`: checked; their elements, steps and exchange count. `gradient` as in SpaceOptions.
  ElementParts(const Communicator& comm, const Machine& machine, const Options& options, bool gradient);
  std::span<Stream> own_streams() override { return space.streams(); }

  void wait();
  /// Adds a task for the solver's own streams. The loop's streams have nothing of it to wait for but what came before.
  void list_task(const char* name, std::function<void()> work);
  /// The values of a field's component, of each device of this rank.
  std::vector<double*> part_of(const Field& field, std::size_t component = 0) const;
  void put(const std::vector<double*>& to, const std::vector<std::vector<double>>& values);
  std::vector<std::vector<double>> get(const std::vector<double*>& from);
  /// to = constant + sum of factor times what a vector has above `less`.
  struct Term {
    double factor;
    std::vector<double*> vector;
    double less = 0;
  };
  void combine(const std::vector<double*>& to, const std::vector<Term>& terms, double constant = 0);
  void times(const Vector& factor, const std::vector<double*>& u);
  /// The greatest |a - b| at this rank's points, or `least`; not a number where one of them is none.
  double largest_difference(const std::vector<double*>& a, const std::vector<double*>& b, double least);
  /// A device's values, by the blocks that are summed, and the numbers of these blocks by device.
  krylov::Range range_of(std::size_t device) const;
  std::vector<std::vector<std::int64_t>> blocks_of_sums() const;

  Machine machine;
  Space space;
  Grid grid;
  double time_step;
  std::int64_t part = 0;  ///< of the step to come
};

}  // namespace slipstream::sem

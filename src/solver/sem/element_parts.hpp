#pragma once
// Parts that solvers on spectral elements share, and their work on values at points.
#include <functional>
#include <string>
#include <vector>

#include <slipstream/sem_solver.hpp>

#include "solver/krylov/vector_kernels.hpp"
#include "solver/sem/kernels.hpp"

namespace slipstream::sem {

/// Evaluates a given function at points and a time. Throws Error if it returns a wrong number of values.
std::vector<double> asked(const Function& function, std::span<const Point> places, double time);

struct ElementParts : SolverParts {
  /// Makes the space of spectral elements from checked options. `gradient`: whether it stores the metric for gradients.
  ElementParts(const Communicator& comm, const Machine& machine, const Options& options, bool gradient);
  std::span<Stream> own_streams() override { return space.streams(); }

  void wait();
  /// Adds a task that runs on the solver's own streams. Streams of the time loop only order it after earlier tasks.
  void list_task(const char* name, std::function<void()> work);
  /// Addresses of the values of a field's component, one per device of this rank.
  std::vector<double*> part_of(const Field& field, std::size_t component = 0) const;
  void put(const std::vector<double*>& to, const std::vector<std::vector<double>>& values);
  std::vector<std::vector<double>> get(const std::vector<double*>& from);
  /// Term factor (vector - less) of the linear combination that combine() computes; `less` is a number.
  struct Term {
    double factor;
    std::vector<double*> vector;
    double less = 0;
  };
  void combine(const std::vector<double*>& to, const std::vector<Term>& terms, double constant = 0);
  void times(const Vector& factor, const std::vector<double*>& u);
  /// The largest |a - b| at this rank's points, or `least` if that is larger; NaN if a value is NaN.
  double largest_difference(const std::vector<double*>& a, const std::vector<double*>& b, double least);
  /// Size of a device's vectors and of their blocks of elements, then the blocks' numbers. Sums are formed by block.
  krylov::Range range_of(std::size_t device) const;
  std::vector<std::vector<std::int64_t>> blocks_of_sums() const;

  Machine machine;
  Space space;
  Grid grid;
  double time_step;
  std::int64_t part = 0;  ///< index of the next substep (a time step may be split)
};

}  // namespace slipstream::sem

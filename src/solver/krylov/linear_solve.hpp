#pragma once
// Common parts of Krylov methods: begin and end of a solve, history, errors.
#include <cmath>
#include <functional>
#include <string>

#include <slipstream/krylov.hpp>

#include "solver/krylov/messages.hpp"
#include "solver/krylov/workspace.hpp"

namespace slipstream::krylov {

/// Throws Error for invalid options.
void check_options(const std::string& method, const Options& options);

struct LinearSolve : Workspace {
  /// Collective. `method`: its name, for messages.
  LinearSolve(const Communicator& comm, const Machine& machine, Layout layout, const char* method);

  /// State at the beginning of a solve.
  struct Beginning {
    double scale = 1, back = 1;  ///< of r over b - A x, a power of two, and its inverse
    double size = 1;             ///< scaled |b|, or |b - A x| where b is 0
    double enough = 0;           ///< the residual over `size` that ends the solve
    double limit = 0;            ///< the same as (r, r)
    double imbalance = 0;        ///< |(1, b)| / sqrt((1, 1) (b, b)), with a null space
    double rz = 0, rr = 0;       ///< of the first residual
    double most = 0;             ///< the largest of |b| and |b - A x|
  };

  using Beginnings = std::vector<Beginning>;
  /// Extracts one number of each component.
  static Each each(const Beginnings& from, double Beginning::*number);
  using Results = std::vector<Result>;
  using Iterations = std::function<void(const Beginnings& from, Results& results)>;
  /// A whole solve: begins, calls the method's iterations if needed, and computes the true residuals. Throws NotSolved.
  Results solve_from(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                     const Options& options, const Iterations& iterate);
  /// Records the residual of an iteration for a component.
  void note(Result& result, const Beginning& from, double rz, double rr, const Options& options) const;

  /// r = scale (b - A x), with A x in q, then (r, D r) and (r, r) at first_pair.
  void find_residual(std::vector<Stream>& streams, const System& system, const Values& b, const Options& options,
                     const Each& scale);
  void sum_residual(std::vector<Stream>& streams, const System& system);
  void take_mean(std::vector<Stream>& streams, const Values& weights, const Vectors& u);
  void fit_guess(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                 const Each& scale);

  const char* method;
  /// Options of the current solve by component, with the component's name behind the unknown's.
  std::vector<Options> of_components;

 private:
  void name_components(const Options& options);
  /// Computes the first residual in r. Throws if there is no solution.
  Beginnings begin(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                   const Options& options);
  /// Records the end of a component's solve; throws NotSolved if it did not converge.
  void conclude(Result& result, const Beginning& from, const Options& options) const;
  void require_in_range(double most, const Options& options) const;
};

}  // namespace slipstream::krylov

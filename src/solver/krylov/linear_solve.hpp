#pragma once
// Common parts of Krylov methods: begin and end of a solve, history, errors.
#include <cmath>
#include <functional>
#include <string>

#include <slipstream/krylov.hpp>

#include "solver/krylov/messages.hpp"
#include "solver/krylov/workspace.hpp"

namespace slipstream::krylov {

/// Throws Error if options of a solve are invalid.
void check_options(const std::string& method, const Options& options);

struct LinearSolve : Workspace {
  /// Prepares an iterative solver and its workspace. Collective. `method`: name of the solver in error messages.
  LinearSolve(const Communicator& comm, const Machine& machine, Layout layout, const char* method);

  /// Norms, scales and limits at the beginning of a solve.
  struct Beginning {
    double scale = 1, back = 1;  ///< factor of r over b - A x, a power of two; its inverse
    double size = 1;             ///< |b|, or |b - A x| if b is 0, times `scale`
    double enough = 0;           ///< relative residual that ends a solve: |r| / |b|, or over the first |r| if b is 0
    double limit = 0;            ///< value of (r, r) at which the solve ends
    double imbalance = 0;        ///< |(1, b)| / sqrt((1, 1) (b, b)), if there is a null space
    double rz = 0, rr = 0;       ///< (r, z) and (r, r) of the first residual r
    double most = 0;             ///< larger of |b| and |b - A x|
  };

  using Beginnings = std::vector<Beginning>;
  /// Extracts one number of each component's Beginning (scales, norms and limits at the start of a solve).
  static Each each(const Beginnings& from, double Beginning::*number);
  using Results = std::vector<Result>;
  using Iterations = std::function<void(const Beginnings& from, Results& results)>;
  /// Runs a whole solve: the first residual, the method's iterations if needed, the true residuals. Throws NotSolved.
  Results solve_from(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                     const Options& options, const Iterations& iterate);
  /// Adds the residual of an iteration to a component's result.
  void note(Result& result, const Beginning& from, double rz, double rr, const Options& options) const;

  /// Computes the residual r = scale (b - A x), and dot products (r, D r) and (r, r); D: inverse of the diagonal of A.
  void find_residual(std::vector<Stream>& streams, const System& system, const Values& b, const Options& options,
                     const Each& scale);
  void sum_residual(std::vector<Stream>& streams, const System& system);
  void take_mean(std::vector<Stream>& streams, const Values& weights, const Vectors& u);
  void fit_guess(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                 const Each& scale);

  const char* method;
  /// Solver options by component of the unknown vector field; the component's name is added for error messages.
  std::vector<Options> of_components;

 private:
  void name_components(const Options& options);
  /// Computes the first residual in r. Throws if there is no solution.
  Beginnings begin(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                   const Options& options);
  /// Completes a component's result after a solve; throws NotSolved if it did not converge.
  void conclude(Result& result, const Beginning& from, const Options& options) const;
  void require_in_range(double most, const Options& options) const;
};

}  // namespace slipstream::krylov

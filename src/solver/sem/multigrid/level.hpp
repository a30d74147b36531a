#pragma once
// A level of p-multigrid: the elements with polynomials of one order, in single precision.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/gather_scatter.hpp>
#include <slipstream/sem.hpp>

#include "solver/sem/assembled.hpp"
#include "solver/sem/kernels.hpp"

namespace slipstream::sem {

/// A level's smoother: the inverse diagonal, or overlapping Schwarz.
enum class Smoother : std::uint8_t { jacobi, schwarz };

/// Values on this rank's devices in single precision, one buffer per device.
using Singles = std::vector<Buffer<float>>;

class Level {
 public:
  /// Makes a level of order `order`. Collective.
  Level(Space& space, const Constraint& constraint, int order, Smoother smoother);

  int order() const { return rule_.order; }
  const Rule& rule() const { return rule_; }
  /// Metric factors G and mass B. The caller sets them divided by the quadrature weights; set_up() multiplies by these.
  Singles factors, mass;
  /// Prepares h1 * stiffness + h2 * mass, and finds the largest eigenvalue of smoother times operator. Collective.
  void set_up(double h1, double h2);

  /// Applies the Helmholtz operator h1 A + h2 B (stiffness A, mass B) and sums the results over copies of points.
  /// Points with Dirichlet values are not masked, because the smoother and the weights of copies are 0 there.
  void apply(const Singles& in, Singles& out);
  /// Smooths the solution z by `degree` Chebyshev steps of the fourth kind, preconditioned by the smoother (Lottes
  /// 2023, Numer. Linear Algebra Appl. 30; Phillips & Fischer 2022). `fresh`: starts from z = 0; otherwise first
  /// updates the residual r for the last correction d. `keep`: updates r at the end, too; else r is undefined.
  void relax(int degree, bool fresh, bool keep);
  /// Sums values over the copies of points: u = Q Q^T u.
  void sum(Singles& u);
  /// Whether a CUDA graph may repeat the work on this multigrid level in a loop.
  bool loopable();

  Singles r, z;                                        ///< right side, which becomes the residual; solution
  Singles d;                                           ///< the last correction of the solution z
  const Singles& weights() const { return weights_; }  ///< one over the number of copies of a point, 0 at fixed points
  HelmholtzCallOf<float> call(std::size_t device) const;
  Singles zeros(std::int64_t values_of_an_element) const;

 private:
  void list_faces();
  void list_kinds();
  void weigh_overlaps();
  /// Solves on each element with its overlap (Schwarz) and sums over shared points to `out`, to be weighted afterwards.
  void overlapping(const Singles& r, Singles& out);
  void lower(bool later);
  void sum_faces();

  Space& space_;
  const Constraint& constraint_;
  Rule rule_;
  Smoother smoother_;
  int n_;
  float h1_ = 1, h2_ = 0;
  double largest_ = 0;
  Singles q_, weights_;
  std::optional<Assembled<float>> assembled_;
  std::optional<GatherScatter> face_sums_;
  std::string face_sums_name_{"sums of faces of order " + std::to_string(n_ - 1)};
  // Array of the Jacobi smoother: the inverse diagonal.
  Singles inverse_;
  // Arrays of the overlapping Schwarz smoother.
  std::vector<float> inner_;  ///< 1-D eigenvectors of the Schwarz subdomain of an element with two neighbours
  Singles overlap_weights_, faces_, ends_, coefficients_, matrices_, eigenvalues_;
  std::vector<Buffer<std::int32_t>> kinds_;
};

}  // namespace slipstream::sem

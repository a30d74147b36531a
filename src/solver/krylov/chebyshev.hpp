#pragma once
// Coefficients of Chebyshev's iteration, and extreme eigenvalues by Lanczos's method.
#include <vector>

namespace slipstream::krylov {

/// Chebyshev iteration for D A z = D r from z = 0: A is a matrix, D a diagonal scaling, r the right side. It damps the
/// part [largest / spread, largest] of the spectrum of D A (Saad 2003, algorithm 12.1). Its z is a polynomial of
/// D A times D r, which is positive for 0 < eigenvalue <= largest. So it is a preconditioner.
class Chebyshev {
 public:
  /// Default ratio of the largest to the smallest damped eigenvalue. The optimum varies little, see docs/sem.md.
  static constexpr double usual_spread = 60;

  explicit Chebyshev(double largest, double spread = usual_spread)
      : centre_(largest * (1 + 1 / spread) / 2), sigma_((1 + 1 / spread) / (1 - 1 / spread)) {}

  /// Returns the factor a of the first correction of the solution, a D r, with the residual r and the preconditioner D.
  double first() {
    rho_ = 1 / sigma_;
    return 1 / centre_;
  }
  /// The factors a and b of the next step, d = a d + b D (r - A z).
  struct Factors {
    double a, b;
  };
  Factors next() {
    const double rho = 1 / (2 * sigma_ - rho_), half_width = centre_ / sigma_;
    const Factors factors{rho * rho_, 2 * rho / half_width};
    rho_ = rho;
    return factors;
  }

 private:
  double centre_, sigma_, rho_ = 0;
};

/// Lanczos estimate of the largest eigenvalue of D A from conjugate gradients. It is the largest eigenvalue of the
/// tridiagonal matrix with the diagonal 1 / alpha_k + beta_{k-1} / alpha_{k-1} and sqrt(beta_k) / alpha_k next to it
/// (Saad 2003, 6.7.3).
double largest_seen(const std::vector<double>& alpha, const std::vector<double>& beta);
/// Lanczos estimate of the smallest eigenvalue of D A, from the same tridiagonal matrix.
double smallest_seen(const std::vector<double>& alpha, const std::vector<double>& beta);

}  // namespace slipstream::krylov

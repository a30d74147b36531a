#include "solver/krylov/chebyshev.hpp"

#include <algorithm>
#include <cmath>

namespace slipstream::krylov {

namespace {

/// A symmetric tridiagonal matrix.
struct Tridiagonal {
  std::vector<double> diagonal, beside;

  Tridiagonal(const std::vector<double>& alpha, const std::vector<double>& beta) {
    for (std::size_t k = 0; k < alpha.size(); ++k) {
      diagonal.push_back(1 / alpha[k] + (k > 0 ? beta[k - 1] / alpha[k - 1] : 0));
      beside.push_back(k + 1 < alpha.size() ? std::sqrt(beta[k]) / alpha[k] : 0);
    }
  }
  /// Gershgorin's bound.
  double bound() const {
    double most = 0;
    for (std::size_t k = 0; k < diagonal.size(); ++k)
      most = std::max(most, diagonal[k] + beside[k] + (k > 0 ? beside[k - 1] : 0));
    return most;
  }
  /// Whether all eigenvalues lie below x (sign = 1) or above it (-1): the pivots of sign (x - T) are positive then.
  bool all_beyond(double x, int sign) const {
    double pivot = 1;
    for (std::size_t k = 0; k < diagonal.size(); ++k) {
      pivot = sign * (x - diagonal[k]) - (k > 0 ? beside[k - 1] * beside[k - 1] / pivot : 0);
      if (!(pivot > 0)) return false;
    }
    return true;
  }
};

}  // namespace

double largest_seen(const std::vector<double>& alpha, const std::vector<double>& beta) {
  const Tridiagonal t(alpha, beta);
  double low = 0, most = t.bound();
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + most);
    (t.all_beyond(middle, 1) ? most : low) = middle;
  }
  return most;
}

double smallest_seen(const std::vector<double>& alpha, const std::vector<double>& beta) {
  const Tridiagonal t(alpha, beta);
  double least = 0, high = t.bound();
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (least + high);
    (t.all_beyond(middle, -1) ? least : high) = middle;
  }
  return least;
}

}  // namespace slipstream::krylov

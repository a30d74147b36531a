#include "solver/krylov/chebyshev.hpp"

#include <algorithm>
#include <cmath>

namespace slipstream::krylov {

double largest_seen(const std::vector<double>& alpha, const std::vector<double>& beta) {
  std::vector<double> diagonal, beside;
  double most = 0;
  for (std::size_t k = 0; k < alpha.size(); ++k) {
    diagonal.push_back(1 / alpha[k] + (k > 0 ? beta[k - 1] / alpha[k - 1] : 0));
    beside.push_back(k + 1 < alpha.size() ? std::sqrt(beta[k]) / alpha[k] : 0);
    // Gershgorin's bound.
    most = std::max(most, diagonal[k] + beside[k] + (k > 0 ? beside[k - 1] : 0));
  }
  // Whether all eigenvalues lie below: the pivots of x - T are positive then.
  const auto all_below = [&](double x) {
    double pivot = 1;
    for (std::size_t k = 0; k < diagonal.size(); ++k) {
      pivot = x - diagonal[k] - (k > 0 ? beside[k - 1] * beside[k - 1] / pivot : 0);
      if (!(pivot > 0)) return false;
    }
    return true;
  };
  double low = 0;
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + most);
    (all_below(middle) ? most : low) = middle;
  }
  return most;
}

}  // namespace slipstream::krylov

#pragma once
// Small symmetric eigenvalue problems on the host.
#include <cstddef>
#include <vector>

namespace slipstream::sem {

/// K s = l B s with S^T B S = 1.
struct Eigen {
  std::vector<double> values;
  std::vector<double> vectors;  ///< row-major, a column each
};

/// K symmetric, B symmetric and positive, row-major n x n: Cholesky's factor of B, then Jacobi's rotations (Golub & Van
/// Loan 2013, sections 8.5 and 8.7). Takes some 10 n^3 operations a sweep, and some 8 sweeps.
Eigen generalized_eigen(std::size_t n, std::vector<double> stiffness, std::vector<double> mass);

}  // namespace slipstream::sem

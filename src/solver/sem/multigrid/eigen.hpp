#pragma once
// Small symmetric eigenvalue problems on the host.
#include <cstddef>
#include <vector>

namespace slipstream::sem {

/// Solution of the eigenvalue problem K s = l B s, with S^T B S = 1.
struct Eigen {
  std::vector<double> values;
  std::vector<double> vectors;  ///< row-major matrix whose columns are the eigenvectors
};

/// Solves for symmetric K and symmetric positive B, row-major n x n, by Cholesky factorisation of B and Jacobi
/// rotations (Golub & Van Loan 2013, sections 8.5 and 8.7). Some 8 sweeps take 10 n^3 operations each.
Eigen generalized_eigen(std::size_t n, std::vector<double> stiffness, std::vector<double> mass);

}  // namespace slipstream::sem

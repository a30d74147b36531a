#include "solver/sem/multigrid/eigen.hpp"

#include <cmath>

#include <slipstream/error.hpp>

namespace slipstream::sem {
namespace {

/// Replaces the lower triangle of B by its Cholesky factor L, B = L L^T.
void factor(std::size_t n, std::vector<double>& b) {
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      double sum = b[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= b[i * n + k] * b[j * n + k];
      if (i == j) require(sum > 0, ErrorCode::internal, "a mass matrix is not positive");
      b[i * n + j] = i == j ? std::sqrt(sum) : sum / b[j * n + j];
    }
}

/// One sweep of Jacobi rotations; returns the squared norm of the off-diagonal part.
double sweep(std::size_t n, std::vector<double>& a, std::vector<double>& v) {
  double left = 0;
  for (std::size_t p = 0; p + 1 < n; ++p)
    for (std::size_t q = p + 1; q < n; ++q) {
      const double apq = a[p * n + q];
      left += apq * apq;
      if (std::abs(apq) <= 1e-18 * std::sqrt(std::abs(a[p * n + p] * a[q * n + q]))) continue;
      const double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
      const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(1 + theta * theta));
      const double c = 1 / std::sqrt(1 + t * t), s = t * c;
      for (std::size_t k = 0; k < n; ++k) {
        const double kp = a[k * n + p], kq = a[k * n + q];
        a[k * n + p] = c * kp - s * kq;
        a[k * n + q] = s * kp + c * kq;
      }
      for (std::size_t k = 0; k < n; ++k) {
        const double pk = a[p * n + k], qk = a[q * n + k];
        a[p * n + k] = c * pk - s * qk;
        a[q * n + k] = s * pk + c * qk;
        const double vp = v[k * n + p], vq = v[k * n + q];
        v[k * n + p] = c * vp - s * vq;
        v[k * n + q] = s * vp + c * vq;
      }
    }
  return left;
}

}  // namespace

Eigen generalized_eigen(std::size_t n, std::vector<double> a, std::vector<double> mass) {
  factor(n, mass);
  // Transforms to a standard problem, C = L^-1 K L^-T: first the rows, then the columns.
  for (const bool rows : {true, false})
    for (std::size_t other = 0; other < n; ++other)
      for (std::size_t i = 0; i < n; ++i) {
        const auto at = [&](std::size_t k) -> double& { return rows ? a[k * n + other] : a[other * n + k]; };
        double sum = at(i);
        for (std::size_t k = 0; k < i; ++k) sum -= mass[i * n + k] * at(k);
        at(i) = sum / mass[i * n + i];
      }
  std::vector<double> v(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  double size = 0;
  for (const double value : a) size += value * value;
  constexpr int most_sweeps = 40;
  for (int n_sweep = 0; n_sweep < most_sweeps && sweep(n, a, v) > 1e-28 * size; ++n_sweep) {
  }
  Eigen found;
  for (std::size_t i = 0; i < n; ++i) found.values.push_back(a[i * n + i]);
  // Transforms the eigenvectors V of L^-1 K L^-T (stiffness K, mass L L^T) to those of the given problem: L^-T V.
  for (std::size_t c = 0; c < n; ++c)
    for (std::size_t i = n; i-- > 0;) {
      double sum = v[i * n + c];
      for (std::size_t k = i + 1; k < n; ++k) sum -= mass[k * n + i] * v[k * n + c];
      v[i * n + c] = sum / mass[i * n + i];
    }
  found.vectors = std::move(v);
  return found;
}

}  // namespace slipstream::sem

#pragma once
// Kernels on elements of any order, in either precision.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include <slipstream/launch.hpp>

#include "solver/sem/kernels.hpp"
#include "solver/sem/trilinear.hpp"

namespace slipstream::sem {

/// Interpolates along r, then s, then t by a matrix, with values in shared memory. The matrix is there, too, because
/// threads that read different entries of a kernel argument are serialised.
template <class T>
struct Interpolate {
  static constexpr int most = most_order + 1, threads = 256;
  T e[most * most];
  int n, m;
  const T *in, *weights;
  T* out;
  std::int64_t cost;

  std::size_t shared_bytes() const { return sizeof(T) * static_cast<std::size_t>(m * n * (n + m + 1)); }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    T *matrix = team.template shared<T>(), *along_r = matrix + m * n, *along_s = along_r + m * n * n;
    const std::int64_t first = team.index() * n * n * n;
    T* const there = out + team.index() * m * m * m;
    team.each([&](int t) {
      for (int p = t; p < m * n; p += threads) matrix[p] = e[p];
    });
    team.each([&](int t) {
      for (int p = t; p < m * n * n; p += threads) {
        const std::int64_t line = first + p / m * n;
        const T* row = matrix + p % m * n;
        along_r[p] = weights ? weighted(row, in + line, weights + line) : summed(row, in + line, 1);
      }
    });
    team.each([&](int t) {
      for (int p = t; p < m * m * n; p += threads)
        along_s[p] = summed(matrix + p / m % m * n, along_r + p / (m * m) * (n * m) + p % m, m);
    });
    team.each([&](int t) {
      for (int p = t; p < m * m * m; p += threads)
        there[p] = summed(matrix + p / (m * m) * n, along_s + p % (m * m), m * m);
    });
  }
  SLIP_FN T summed(const T* row, const T* values, int stride) const {
    T sum = 0;
    for (int l = 0; l < n; ++l) sum = fma(row[l], values[l * stride], sum);
    return sum;
  }
  SLIP_FN T weighted(const T* row, const T* values, const T* w) const {
    T sum = 0;
    for (int l = 0; l < n; ++l) sum = fma(row[l], w[l] * values[l], sum);
    return sum;
  }
};

template <class T>
void run_interpolate(Stream& stream, const InterpolateCallOf<T>& call) {
  Interpolate<T> kernel{{}, call.n, call.m, call.in, call.weights, call.out, 2 * call.m * call.m * call.m};
  std::copy(call.matrix.begin(), call.matrix.end(), kernel.e);
  launch_teams(stream, call.elements, Interpolate<T>::threads, kernel.shared_bytes(), kernel);
}

/// Diagonal of each element's Helmholtz matrix. The basis function of point (i, j, k) has r-derivatives on its row, s-
/// and t-derivatives on its other two lines. The diagonal sums squared derivatives times geometric factors along these
/// lines, plus mixed products at the point. Factors of trilinear elements are computed here in double precision only.
template <class T>
struct Diagonal {
  static constexpr int most = most_order + 1;
  T d[most * most], w[most], x[most];
  int n;
  Factors form;
  const T *factors, *mass;
  T* out;
  T h1, h2;

  SLIP_FN T g(int c, int i, int j, int k, std::int64_t e) const {
    if (form == Factors::affine) return w[i] * w[j] * w[k] * factors[e * 6 + c];
    if constexpr (std::is_same_v<T, double>) {
      if (form == Factors::trilinear) {
        double all[6];
        trilinear_products(factors + e * 24, x[i], x[j], x[k], w[i] * w[j] * w[k], all);
        return all[c];
      }
    }
    return factors[((e * 6 + c) * n + k) * n * n + j * n + i];
  }
  SLIP_FN void operator()(int i, int jk, int e) const {
    const int j = jk % n, k = jk / n;
    T sum = 0;
    for (int m = 0; m < n; ++m) {
      const T r = d[m * n + i], s = d[m * n + j], t = d[m * n + k];
      sum = fma(r * r, g(0, m, j, k, e), sum);
      sum = fma(s * s, g(3, i, m, k, e), sum);
      sum = fma(t * t, g(5, i, j, m, e), sum);
    }
    const T r = d[i * n + i], s = d[j * n + j], t = d[k * n + k];
    sum += 2 * (r * s * g(1, i, j, k, e) + r * t * g(2, i, j, k, e) + s * t * g(4, i, j, k, e));
    const std::int64_t p = (static_cast<std::int64_t>(e) * n + k) * n * n + j * n + i;
    out[p] = h1 * sum + h2 * mass[p];
  }
};

template <class T>
void run_diagonal(Stream& stream, const HelmholtzCallOf<T>& call) {
  const std::int64_t n = call.rule->order + 1;
  Diagonal<T> kernel{{}, {}, {}, static_cast<int>(n), call.form, call.factors, call.mass, call.out, call.h1, call.h2};
  std::copy(call.rule->points.begin(), call.rule->points.end(), kernel.x);
  std::copy(call.rule->derivative.begin(), call.rule->derivative.end(), kernel.d);
  std::copy(call.rule->weights.begin(), call.rule->weights.end(), kernel.w);
  launch(stream, {{0, 0, 0}, {n, n * n, call.elements}}, kernel);
}

}  // namespace slipstream::sem

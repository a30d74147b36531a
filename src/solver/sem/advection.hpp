#pragma once
// int phi c . grad v dx by a rule of 3/2 as many points, which takes the product of three polynomials of order N
// exactly (Orszag 1971; Malm, Schlatter, Fischer & Henningson 2013).
#include <cmath>

#include "solver/sem/kernels.hpp"
#include "solver/sem/plane.hpp"

namespace slipstream::sem {

/// Points of the finer rule along an edge, of n of the elements' own.
template <int n>
inline constexpr int fine_of = (3 * n + 1) / 2;

/// From n points to m: values and derivatives of polynomials, by rows, and the weights of the finer rule.
template <int n, int m = fine_of<n>>
struct Finer {
  double value[m * n], slope[m * n], w[m];
};

/// The place of thread t in an m x m plane of its team's element.
template <int m>
struct FineSeat {
  int i, j;
  SLIP_FN explicit FineSeat(int t) : i(t % m), j(t / m) {}
};

/// fine[a] = w |J| grad a . c at the finer points: c is taken into the element's own directions, then interpolated
/// along r and s in planes, along t in each thread's column.
template <int n>
struct CarryKernel {
  static constexpr int m = fine_of<n>, threads = m * m;
  static constexpr std::size_t shared_bytes = sizeof(double) * (m * n + n * n + m * n);

  Basis<n> basis;
  Finer<n> finer;
  CarryCall call;
  int cost;

  struct Column {
    double sum[m];
  };

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    double* e = team.template shared<double>();
    double *plane = e + m * n, *along_r = plane + n * n;
    OfThread<Column, threads, Team::sequential> columns;
    constexpr std::int64_t cube = n * n * n, fine_cube = m * m * m;
    const std::int64_t element = team.index();
    for (int a = 0; a < 3; ++a) {
      team.each([&](int t) {
        for (int p = t; p < m * n; p += threads) e[p] = finer.value[p];
        for (int k = 0; k < m; ++k) columns(t).sum[k] = 0;
      });
      for (int k = 0; k < n; ++k) {
        team.each([&](int t) {
          for (int p = t; p < n * n; p += threads) {
            const std::int64_t at = k * (n * n) + p, point = element * cube + at;
            const double* metric = call.metric + element * 9 * cube + at;
            double along = 0;
            for (int x = 0; x < 3; ++x) along = fma(metric[(3 * a + x) * cube], call.in[x][point], along);
            // The mass over the element's own weights is |J|.
            plane[p] = along * (call.mass[point] / (basis.w[p % n] * basis.w[p / n] * basis.w[k]));
          }
        });
        team.each([&](int t) {
          for (int p = t; p < m * n; p += threads) {
            double sum = 0;
            for (int l = 0; l < n; ++l) sum = fma(e[p % m * n + l], plane[p / m * n + l], sum);
            along_r[p] = sum;
          }
        });
        team.each([&](int t) {
          const FineSeat<m> seat(t);
          double value = 0;
          for (int l = 0; l < n; ++l) value = fma(e[seat.j * n + l], along_r[l * m + seat.i], value);
          for (int f = 0; f < m; ++f) columns(t).sum[f] = fma(e[f * n + k], value, columns(t).sum[f]);
        });
      }
      team.each([&](int t) {
        const FineSeat<m> seat(t);
        const double w = finer.w[seat.i] * finer.w[seat.j];
        for (int f = 0; f < m; ++f)
          call.fine[a][element * fine_cube + f * (m * m) + t] = w * finer.w[f] * columns(t).sum[f];
      });
    }
  }
};

/// out = J^T (sum of fine[a] dv/da at the finer points), J the interpolation.
template <int n>
struct AdvectKernel {
  static constexpr int m = fine_of<n>, threads = m * m;
  static constexpr std::size_t shared_bytes = sizeof(double) * (2 * m * n + n * n + 2 * m * n + m * m);

  Finer<n> finer;
  AdvectCall call;
  int cost;

  struct Column {
    double r[m], s[m], t[m];  ///< derivatives at the finer points; then the products in r
  };

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    double* e = team.template shared<double>();
    double *slope = e + m * n, *plane = slope + m * n;
    double *values_r = plane + n * n, *slopes_r = values_r + m * n, *products = slopes_r + m * n;
    OfThread<Column, threads, Team::sequential> columns;
    constexpr std::int64_t cube = n * n * n, fine_cube = m * m * m;
    const std::int64_t element = team.index();
    team.each([&](int t) {
      for (int p = t; p < m * n; p += threads) {
        e[p] = finer.value[p];
        slope[p] = finer.slope[p];
      }
      Column& column = columns(t);
      for (int f = 0; f < m; ++f) column.r[f] = column.s[f] = column.t[f] = 0;
    });
    for (int k = 0; k < n; ++k) {
      team.each([&](int t) {
        for (int p = t; p < n * n; p += threads) plane[p] = call.in[element * cube + k * (n * n) + p];
      });
      team.each([&](int t) {
        for (int p = t; p < m * n; p += threads) {
          double value = 0, change = 0;
          for (int l = 0; l < n; ++l) {
            value = fma(e[p % m * n + l], plane[p / m * n + l], value);
            change = fma(slope[p % m * n + l], plane[p / m * n + l], change);
          }
          values_r[p] = value;
          slopes_r[p] = change;
        }
      });
      team.each([&](int t) {
        const FineSeat<m> seat(t);
        double along_r = 0, along_s = 0, value = 0;
        for (int l = 0; l < n; ++l) {
          along_r = fma(e[seat.j * n + l], slopes_r[l * m + seat.i], along_r);
          along_s = fma(slope[seat.j * n + l], values_r[l * m + seat.i], along_s);
          value = fma(e[seat.j * n + l], values_r[l * m + seat.i], value);
        }
        Column& column = columns(t);
        for (int f = 0; f < m; ++f) {
          column.r[f] = fma(e[f * n + k], along_r, column.r[f]);
          column.s[f] = fma(e[f * n + k], along_s, column.s[f]);
          column.t[f] = fma(slope[f * n + k], value, column.t[f]);
        }
      });
    }
    team.each([&](int t) {
      Column& column = columns(t);
      for (int f = 0; f < m; ++f) {
        const std::int64_t at = element * fine_cube + f * (m * m) + t;
        column.r[f] =
            fma(call.fine[0][at], column.r[f], fma(call.fine[1][at], column.s[f], call.fine[2][at] * column.t[f]));
      }
    });
    for (int k = 0; k < n; ++k) {
      team.each([&](int t) {
        double sum = 0;
        for (int f = 0; f < m; ++f) sum = fma(e[f * n + k], columns(t).r[f], sum);
        products[t] = sum;
      });
      team.each([&](int t) {
        for (int p = t; p < m * n; p += threads) {  // fine along r, own along s
          double sum = 0;
          for (int l = 0; l < m; ++l) sum = fma(e[l * n + p / m], products[l * m + p % m], sum);
          values_r[p] = sum;
        }
      });
      team.each([&](int t) {
        for (int p = t; p < n * n; p += threads) {
          double sum = 0;
          for (int l = 0; l < m; ++l) sum = fma(e[l * n + p % n], values_r[p / n * m + l], sum);
          call.out[element * cube + k * (n * n) + p] = sum;
        }
      });
    }
  }
};

}  // namespace slipstream::sem

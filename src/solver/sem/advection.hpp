#pragma once
// Advection term int phi c . grad v dx by a quadrature rule of 3/2 as many points. It is exact for the product of three
// polynomials of order N if the metric is constant (Orszag 1971; Malm, Schlatter, Fischer & Henningson 2013).
#include <cmath>

#include "solver/sem/kernels.hpp"
#include "solver/sem/plane.hpp"

namespace slipstream::sem {

/// Number of points along an edge of the finer quadrature rule for advection, if elements have n points along it.
template <int n>
inline constexpr int fine_of = (3 * n + 1) / 2;

/// Tables to interpolate from n points to m: values and derivatives of polynomials, by rows; weights of the finer rule.
template <int n, int m = fine_of<n>>
struct Finer {
  double value[m * n], slope[m * n], w[m];
};

/// Coordinates of thread t in an m x m plane of its team's element.
template <int m>
struct FineSeat {
  int i, j;
  SLIP_FN explicit FineSeat(int t) : i(t % m), j(t / m) {}
};

/// Computes fine[a] = w |J| grad a . c at the points of a finer quadrature. It has weights w, Jacobians |J|, velocities
/// c, and reference coordinates a = r, s, t. Velocities and coordinates are interpolated plane by plane: along t, then
/// r, then s. On parallelepipeds the metric of a corner serves, and only c is interpolated.
template <int n, bool bent>
struct CarryKernel {
  static constexpr int m = fine_of<n>, threads = m * m, places = bent ? 3 : 0;
  /// Counts of shared-memory arrays for velocity, coordinates and their derivatives, interpolated along t, then r.
  static constexpr int planes = 3 + 2 * places, lines = 3 + 3 * places;
  static constexpr std::size_t shared_bytes = sizeof(double) * (2 * m * n + planes * n * n + lines * m * n);

  Finer<n> finer;
  CarryCall call;
  int cost;

  struct Slopes {
    double of[3][3];  ///< derivatives of an element's coordinates, [along r s t][x y z]
  };

  /// Scalar product of a row of a matrix with values that lie `step` apart.
  static SLIP_FN double times(const double* row, const double* values, int step) {
    double sum = 0;
    for (int l = 0; l < n; ++l) sum = fma(row[l], values[l * step], sum);
    return sum;
  }
  SLIP_FN Slopes of_corner(std::int64_t element) const {
    Slopes slopes;
    for (int a = 0, step = n - 1; a < 3; ++a, step *= n)
      for (int d = 0; d < 3; ++d) {
        const double* x = call.places[d] + element * (n * n * n);
        slopes.of[a][d] = 0.5 * (x[step] - x[0]);
      }
    return slopes;
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    double* value = team.template shared<double>();
    double *slope = value + m * n, *plane = slope + m * n, *line = plane + planes * n * n;
    constexpr std::int64_t cube = n * n * n, fine_cube = m * m * m;
    const std::int64_t element = team.index();
    team.each([&](int t) {
      for (int p = t; p < m * n; p += threads) {
        value[p] = finer.value[p];
        slope[p] = finer.slope[p];
      }
    });
    for (int f = 0; f < m; ++f) {
      team.each([&](int t) {
        for (int p = t; p < n * n; p += threads) {
          for (int d = 0; d < 3; ++d)
            plane[d * (n * n) + p] = times(value + f * n, call.in[d] + element * cube + p, n * n);
          for (int d = 0; d < places; ++d) {
            const double* x = call.places[d] + element * cube + p;
            plane[(3 + 2 * d) * (n * n) + p] = times(value + f * n, x, n * n);
            plane[(4 + 2 * d) * (n * n) + p] = times(slope + f * n, x, n * n);
          }
        }
      });
      team.each([&](int t) {
        for (int p = t; p < m * n; p += threads) {
          const double *e = value + p % m * n, *de = slope + p % m * n, *row = plane + p / m * n;
          for (int d = 0; d < 3; ++d) line[d * (m * n) + p] = times(e, row + d * (n * n), 1);
          for (int d = 0; d < places; ++d) {
            const double *x = row + (3 + 2 * d) * (n * n), *x_t = x + n * n;
            line[(3 + 3 * d) * (m * n) + p] = times(de, x, 1);
            line[(4 + 3 * d) * (m * n) + p] = times(e, x, 1);
            line[(5 + 3 * d) * (m * n) + p] = times(e, x_t, 1);
          }
        }
      });
      team.each([&](int t) {
        const FineSeat<m> seat(t);
        const double *e = value + seat.j * n, *de = slope + seat.j * n, *file = line + seat.i;
        double c[3];
        for (int d = 0; d < 3; ++d) c[d] = times(e, file + d * (m * n), m);
        Slopes slopes;
        if constexpr (bent) {
          for (int d = 0; d < 3; ++d) {
            slopes.of[0][d] = times(e, file + (3 + 3 * d) * (m * n), m);
            slopes.of[1][d] = times(de, file + (4 + 3 * d) * (m * n), m);
            slopes.of[2][d] = times(e, file + (5 + 3 * d) * (m * n), m);
          }
        } else {
          slopes = of_corner(element);
        }
        const double w = finer.w[seat.i] * finer.w[seat.j] * finer.w[f];
        for (int a = 0; a < 3; ++a) {
          const double *p = slopes.of[(a + 1) % 3], *q = slopes.of[(a + 2) % 3];
          double sum = 0;
          for (int d = 0; d < 3; ++d) {
            const int y = (d + 1) % 3, z = (d + 2) % 3;
            sum = fma(fma(p[y], q[z], -(p[z] * q[y])), c[d], sum);
          }
          call.fine[a][element * fine_cube + f * (m * m) + t] = w * sum;
        }
      });
    }
  }
};

/// Integrates the advection term c . grad v (velocity c) with 3/2 as many quadrature points, for each basis function.
template <int n>
struct AdvectKernel {
  static constexpr int m = fine_of<n>, threads = m * m;
  static constexpr std::size_t shared_bytes = sizeof(double) * (2 * m * n + n * n + 2 * m * n + m * m);

  Finer<n> finer;
  AdvectCall call;
  int cost;

  struct Column {
    double r[m], s[m], t[m];  ///< derivatives of the advected field along axes r, s, t; r later: velocity . gradient
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
        for (int p = t; p < m * n; p += threads) {  // p % m: finer point along r, p / m: element's point along s
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

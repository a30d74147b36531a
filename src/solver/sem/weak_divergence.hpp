#pragma once
// The weak divergence int grad phi . g at an element's points: the transpose of the gradient, by the chain rule with
// the stored metric.
#include <cmath>

#include "solver/sem/kernels.hpp"
#include "solver/sem/plane.hpp"

namespace slipstream::sem {

/// Computes the sum of D_a^T (B grad a . in) over reference axes a: derivative matrices D_a, mass B, vector field `in`.
template <int n>
struct WeakDivergenceKernel {
  static constexpr int per_team = elements_of_a_team<n>, threads = per_team * n * n;
  static constexpr std::size_t shared_bytes = sizeof(double) * (n * n + 2 * threads);

  Basis<n> basis;
  WeakDivergenceCall call;
  int cost;

  struct Column {
    double sum[n];
  };

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    double* d = team.template shared<double>();
    double *along_r = d + n * n, *along_s = along_r + threads;
    OfThread<Column, threads, Team::sequential> columns;
    team.each([&](int t) {
      for (int m = t; m < n * n; m += threads) d[m] = basis.d[m];
      for (int k = 0; k < n; ++k) columns(t).sum[k] = 0;
    });
    for_planes<n, !Team::sequential>([&](int k) {
      team.each([&](int t) {
        const Seat<n> seat(team.index(), t);
        if (seat.element >= call.elements) return;
        constexpr std::int64_t cube = n * n * n;
        const std::int64_t point = seat.point(k);
        const double* metric = call.metric + seat.element * 9 * cube + k * (n * n) + seat.j * n + seat.i;
        const double mass = call.mass[point];
        double g[3];
        for (int c = 0; c < 3; ++c) g[c] = call.in[c] ? call.in[c][point] : 0;
        const auto along = [&](int a) {
          const double* grad = metric + 3 * a * cube;
          double sum = 0;
          for (int c = 2; c >= 0; --c)
            if (call.in[c]) sum = fma(grad[c * cube], g[c], sum);
          return mass * sum;
        };
        along_r[seat.cell()] = along(0);
        along_s[seat.cell()] = along(1);
        const double along_t = along(2);
        Column& column = columns(t);
        for (int m = 0; m < n; ++m) column.sum[m] = fma(basis.d[k * n + m], along_t, column.sum[m]);
      });
      team.each([&](int t) {
        const Seat<n> seat(team.index(), t);
        if (seat.element >= call.elements) return;
        const double *row = along_r + seat.cell() - seat.i, *file = along_s + seat.cell() - seat.j * n;
        double sum = columns(t).sum[k];
        for (int m = 0; m < n; ++m) sum = fma(d[m * n + seat.i], row[m], fma(d[m * n + seat.j], file[m * n], sum));
        columns(t).sum[k] = sum;
      });
    });
    team.each([&](int t) {
      const Seat<n> seat(team.index(), t);
      if (seat.element >= call.elements) return;
      for (int k = 0; k < n; ++k) call.out[seat.point(k)] = columns(t).sum[k];
    });
  }
};

}  // namespace slipstream::sem

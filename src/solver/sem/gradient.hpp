#pragma once
// Derivatives along x, y and z at an element's points: the chain rule with the stored metric.
#include <cmath>

#include "solver/sem/kernels.hpp"
#include "solver/sem/plane.hpp"

namespace slipstream::sem {

template <int n>
struct GradientKernel {
  static constexpr int per_team = elements_of_a_team<n>, threads = per_team * n * n;
  static constexpr std::size_t shared_bytes = sizeof(double) * (n * n + 2 * threads);

  Basis<n> basis;
  const double* in;
  const double* metric;
  double* out[3];
  std::int64_t elements;
  int cost;

  struct Column {
    double u[n];
  };

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    double* d = team.template shared<double>();
    double* planes = d + n * n;  // two, in turn: one barrier a plane
    OfThread<Column, threads, Team::sequential> columns;
    team.each([&](int t) {
      for (int m = t; m < n * n; m += threads) d[m] = basis.d[m];
      const Seat<n> seat(team.index(), t);
      if (seat.element >= elements) return;
      for (int k = 0; k < n; ++k) columns(t).u[k] = in[seat.point(k)];
      planes[seat.cell()] = columns(t).u[0];
    });
    for_planes<n, !Team::sequential>([&](int k) {
      team.each([&](int t) {
        const Seat<n> seat(team.index(), t);
        if (seat.element >= elements) return;
        const Column& column = columns(t);
        const double* plane = planes + (k % 2) * threads;
        const double *row = plane + seat.cell() - seat.i, *file = plane + seat.cell() - seat.j * n;
        if (k + 1 < n) planes[((k + 1) % 2) * threads + seat.cell()] = column.u[k + 1];
        double ur = 0, us = 0, ut = 0;
        for (int m = 0; m < n; ++m) {
          ur = fma(d[seat.i * n + m], row[m], ur);
          us = fma(d[seat.j * n + m], file[m * n], us);
          ut = fma(d[k * n + m], column.u[m], ut);
        }
        const std::int64_t cube = n * n * n, at = seat.element * 9 * cube + k * (n * n) + seat.j * n + seat.i;
        for (int x = 0; x < 3; ++x)
          out[x][seat.point(k)] =
              fma(metric[at + x * cube], ur, fma(metric[at + (3 + x) * cube], us, metric[at + (6 + x) * cube] * ut));
      });
    });
  }
};

}  // namespace slipstream::sem

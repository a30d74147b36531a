#pragma once
// Gradient, divergence and curl at an element's points: sums of derivatives of components, by the chain rule with the
// stored metric.
#include <cmath>

#include "solver/sem/kernels.hpp"
#include "solver/sem/plane.hpp"

namespace slipstream::sem {

/// The kernel processes components in turn, plane by plane; each component adds its terms to the results.
template <int n>
struct DerivativesKernel {
  static constexpr int per_team = elements_of_a_team<n>, threads = per_team * n * n;
  static constexpr std::size_t shared_bytes = sizeof(double) * (n * n + 2 * threads);

  Basis<n> basis;
  DerivativesCall call;
  int cost;

  struct Column {
    double u[n];
  };

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    double* d = team.template shared<double>();
    double* planes = d + n * n;  // two planes of values in turn, so one barrier a plane suffices
    OfThread<Column, threads, Team::sequential> columns;
    for (int component = 0; component < call.components; ++component) {
      team.each([&](int t) {
        for (int m = t; m < n * n; m += threads) d[m] = basis.d[m];
        const Seat<n> seat(team.index(), t);
        if (seat.element >= call.elements) return;
        for (int k = 0; k < n; ++k) columns(t).u[k] = call.in[component][seat.point(k)];
        planes[seat.cell()] = columns(t).u[0];
      });
      for_planes<n, !Team::sequential>([&](int k) {
        team.each([&](int t) {
          const Seat<n> seat(team.index(), t);
          if (seat.element >= call.elements) return;
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
          constexpr std::int64_t cube = n * n * n;
          const double* metric = call.metric + seat.element * 9 * cube + k * (n * n) + seat.j * n + seat.i;
          for (int term = 0; term < call.terms; ++term) {
            const DerivativesCall::Term& of = call.of[component][term];
            const double* along = metric + of.axis * cube;
            const double value = of.sign * fma(along[0], ur, fma(along[3 * cube], us, along[6 * cube] * ut));
            double& to = call.out[of.out][seat.point(k)];
            to = of.first ? value : to + value;
          }
        });
      });
    }
  }
};

}  // namespace slipstream::sem

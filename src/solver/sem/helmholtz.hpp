#pragma once
// out = (h1 A + h2 B) in, element by element.
#include <bit>
#include <cmath>

#include "solver/sem/kernels.hpp"
#include "solver/sem/plane.hpp"
#include "solver/sem/trilinear.hpp"

namespace slipstream::sem {

/// The scheme of Swirydowicz et al., Acceleration of tensor-product operations for high-order finite element methods
/// (2019), kernel BK5: each thread holds a column of values and one of results. In a plane it takes the derivatives,
/// multiplies by G, and adds to its column what D^T brings along r and s there and along t to all planes.
template <int n, Factors form>
struct HelmholtzKernel {
  static constexpr int per_team = elements_of_a_team<n>, threads = per_team * n * n;
  static constexpr std::size_t shared_bytes = sizeof(double) * (n * n + 2 * n + 3 * threads);

  Basis<n> basis;
  const double* in;
  const double* factors;
  const double* mass;  ///< null: without its term
  double* out;
  double h1, h2;
  std::int64_t elements;
  const std::int32_t* list;  ///< numbers of so many elements; null: the first so many
  double* energies;          ///< of each element the sum of in times out; null: without
  int cost;

  struct Column {
    double u[n], sum[n];
    std::int32_t element;  ///< of the thread; -1: it has none
  };
  struct Products {
    double g[6];
  };

  /// w |J| grad a . grad b at a point; in the order rr rs rt ss st tt.
  SLIP_FN Products read(std::int64_t element, const Place<n>& seat, int k, const double* weights) const {
    Products p;
    if constexpr (form == Factors::trilinear) {
      const double w = weights[seat.i] * weights[seat.j] * weights[k];
      const double* points = weights + n;
      trilinear_products(factors + element * 24, points[seat.i], points[seat.j], points[k], w, p.g);
    } else if constexpr (form == Factors::affine) {
      const double w = weights[seat.i] * weights[seat.j] * weights[k];
      for (int c = 0; c < 6; ++c) p.g[c] = w * factors[element * 6 + c];
    } else {
      const std::int64_t at = element * 6 * (n * n * n) + k * (n * n) + seat.j * n + seat.i;
      for (int c = 0; c < 6; ++c) p.g[c] = factors[at + c * (n * n * n)];
    }
    return p;
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    constexpr bool one = Team::sequential;
    double* d = team.template shared<double>();
    double *w = d + n * n, *plane = w + 2 * n, *along_r = plane + threads, *along_s = along_r + threads;
    OfThread<Column, threads, one> columns;
    OfThread<Products, threads, one> products;
    team.each([&](int t) {
      for (int m = t; m < n * n; m += threads) d[m] = basis.d[m];
      for (int m = t; m < n; m += threads) {
        w[m] = basis.w[m];
        w[n + m] = basis.x[m];  // behind the weights
      }
      const Seat<n> seat(team.index(), t);
      Column& column = columns(t);
      column.element = seat.element < elements ? static_cast<std::int32_t>(seat.element) : -1;
      if (column.element < 0) return;
      if (list) column.element = list[column.element];
      for (int k = 0; k < n; ++k) {
        column.u[k] = in[seat.point(column.element, k)];
        column.sum[k] = 0;
      }
      plane[seat.cell()] = column.u[0];
    });
    team.each([&](int t) {
      if (columns(t).element >= 0) products(t) = read(columns(t).element, Place<n>(t), 0, w);
    });
    for_planes<n, !Team::sequential>([&](int k) {
      team.each([&](int t) {
        const Place<n> seat(t);
        Column& column = columns(t);
        if (column.element < 0) return;
        const double *row = plane + seat.cell() - seat.i, *file = plane + seat.cell() - seat.j * n;
        double ur = 0, us = 0, ut = 0;
        for (int m = 0; m < n; ++m) {
          ur = fma(d[seat.i * n + m], row[m], ur);
          us = fma(d[seat.j * n + m], file[m * n], us);
          ut = fma(d[k * n + m], column.u[m], ut);
        }
        const double* g = products(t).g;
        along_r[seat.cell()] = fma(g[0], ur, fma(g[1], us, g[2] * ut));
        along_s[seat.cell()] = fma(g[1], ur, fma(g[3], us, g[4] * ut));
        const double along_t = fma(g[2], ur, fma(g[4], us, g[5] * ut));
        for (int m = 0; m < n; ++m) column.sum[m] = fma(d[k * n + m], along_t, column.sum[m]);
      });
      team.each([&](int t) {
        const Place<n> seat(t);
        Column& column = columns(t);
        if (column.element < 0) return;
        // The next plane's factors are on their way while this one is summed.
        if (k + 1 < n) products(t) = read(column.element, seat, k + 1, w);
        const double *row = along_r + seat.cell() - seat.i, *file = along_s + seat.cell() - seat.j * n;
        double sum = 0;
        for (int m = 0; m < n; ++m) {
          sum = fma(d[m * n + seat.i], row[m], sum);
          sum = fma(d[m * n + seat.j], file[m * n], sum);
        }
        column.sum[k] += sum;
        if (k + 1 < n) plane[seat.cell()] = column.u[k + 1];
      });
    });
    team.each([&](int t) {
      const Place<n> seat(t);
      const Column& column = columns(t);
      if (column.element < 0) return;
      double energy = 0;
      for (int k = 0; k < n; ++k) {
        const std::int64_t at = seat.point(column.element, k);
        double value = h1 * column.sum[k];
        if (mass != nullptr) value = fma(h2 * mass[at], column.u[k], value);
        out[at] = value;
        energy = fma(value, column.u[k], energy);
      }
      plane[seat.cell()] = energy;
    });
    if (energies == nullptr) return;
    // Threads of an element are added up by halves.
    constexpr int square = n * n;
    for (int half = static_cast<int>(std::bit_ceil(static_cast<unsigned>(square))) / 2; half > 0; half /= 2)
      team.each([&](int t) {
        const int at = t % square;
        if (at < half && at + half < square) plane[t] += plane[t + half];
      });
    team.each([&](int t) {
      if (t % square == 0 && columns(t).element >= 0) energies[columns(t).element] = plane[t];
    });
  }
};

}  // namespace slipstream::sem

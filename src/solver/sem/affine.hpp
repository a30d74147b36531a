#pragma once
// Helmholtz operator out = (h1 A + h2 B) in on parallelepipeds, element by element.
#include "solver/sem/kernels.hpp"
#include "solver/sem/plane.hpp"

namespace slipstream::sem {

/// The operator's kernel. Six numbers describe an element, so shared memory is the bottleneck. A thread takes whole
/// lines, one along each axis in turn. It reads the n values of a line, computes all n derivatives with D from the
/// launch's arguments, and writes them back. That is 17 accesses a point; a thread per point of a plane would need 4 n
/// reads. Lines along t stay in registers.
template <int n>
struct AffineKernel {
  static constexpr int per_team = elements_of_a_team<n>, threads = per_team * n * n;
  /// Number of teams a multiprocessor holds: limits registers to 80 a thread if a line and its derivatives fit. Order 7
  /// then reaches 139 Gpoint/s on an H100, and 123 with the compiler's 98 registers.
  static constexpr int resident = n <= 10 ? 65536 / (80 * ((threads + 31) / 32 * 32)) : 1;
  /// An odd stride between rows puts lines along r on different banks of shared memory.
  static constexpr int stride = n | 1, plane = n * stride, cube = n * plane;
  static constexpr std::size_t shared_bytes = sizeof(double) * 2 * per_team * cube;

  Basis<n> basis;
  const double* in;
  const double* factors;  ///< metric factors |J| grad a . grad b of each element, in the order rr rs rt ss st tt
  const double* mass;     ///< factors of the mass term at points; null: there is no mass term
  double* out;
  double h1, h2;
  std::int64_t elements;
  const std::int32_t* list;  ///< indices of the elements to process; null: the first ones
  double* energies;          ///< scalar product of in and out for each element; null: not wanted
  int components;            ///< number of components of `in`; each thread block computes one of them
  std::int64_t all;          ///< number of elements from one component to the next
  int cost;

  struct Column {
    double u[n], sum[n];
    std::int32_t element;  ///< element of the thread; -1: the thread is idle
  };
  struct Line {
    double of[n];
  };

  /// Applies the matrix D of derivatives, or its transpose, to a line of points: to[i] = sum over m of D_im * from[m].
  template <bool transposed, bool unroll>
  SLIP_FN Line derivative(const Line& from) const {
    Line to;
    for_planes<n, unroll>([&](int i) {
      double sum = 0;
      for (int m = 0; m < n; ++m) sum = fma(basis.d[transposed ? m * n + i : i * n + m], from.of[m], sum);
      to.of[i] = sum;
    });
    return to;
  }
  static SLIP_FN Line load(const double* from, int step) {
    Line line;
    for (int m = 0; m < n; ++m) line.of[m] = from[m * step];
    return line;
  }
  static SLIP_FN void store(const Line& line, double* to, int step) {
    for (int m = 0; m < n; ++m) to[m * step] = line.of[m];
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    constexpr bool one = Team::sequential;
    double *const along_r = team.template shared<double>(), *const along_s = along_r + per_team * cube;
    OfThread<Column, threads, one> columns;
    OfThread<Line, threads, one> rows;
    // Offsets of a thread's lines in shared memory: along t at (i, j), along r at (j, k), along s at (i, k).
    const auto column_at = [](const Place<n>& at) { return at.slot * cube + at.j * stride + at.i; };
    const auto row_at = [](const Place<n>& at) { return at.slot * cube + at.j * plane + at.i * stride; };
    const auto file_at = [](const Place<n>& at) { return at.slot * cube + at.j * plane + at.i; };
    team.each([&](int t) {
      const Seat<n> seat(team.index() / components, t);
      const std::int64_t before = team.index() % components * all;
      Column& column = columns(t);
      column.element = seat.element < elements ? static_cast<std::int32_t>(seat.element) : -1;
      if (column.element < 0) return;
      if (list) column.element = list[column.element];
      for (int k = 0; k < n; ++k) {
        column.u[k] = in[seat.point(before + column.element, k)];
        column.sum[k] = 0;
      }
      for (int k = 0; k < n; ++k) along_r[column_at(seat) + k * plane] = column.u[k];
    });
    team.each([&](int t) {
      const Place<n> at(t);
      if (columns(t).element < 0) return;
      store(derivative<false, !one>(load(along_r + file_at(at), stride)), along_s + file_at(at), stride);
      rows(t) = derivative<false, !one>(load(along_r + row_at(at), 1));
    });
    team.each([&](int t) {
      if (columns(t).element >= 0) store(rows(t), along_r + row_at(Place<n>(t)), 1);
    });
    team.each([&](int t) {
      const Place<n> at(t);
      Column& column = columns(t);
      if (column.element < 0) return;
      double g[6];
      for (int c = 0; c < 6; ++c) g[c] = basis.w[at.i] * basis.w[at.j] * factors[column.element * 6 + c];
      for_planes<n, !one>([&](int k) {
        double &r = along_r[column_at(at) + k * plane], &s = along_s[column_at(at) + k * plane];
        const double ur = basis.w[k] * r, us = basis.w[k] * s;
        double ut = 0;
        for (int m = 0; m < n; ++m) ut = fma(basis.d[k * n + m], column.u[m], ut);
        ut *= basis.w[k];
        r = fma(g[0], ur, fma(g[1], us, g[2] * ut));
        s = fma(g[1], ur, fma(g[3], us, g[4] * ut));
        const double along_t = fma(g[2], ur, fma(g[4], us, g[5] * ut));
        for (int m = 0; m < n; ++m) column.sum[m] = fma(basis.d[k * n + m], along_t, column.sum[m]);
      });
    });
    team.each([&](int t) {
      const Place<n> at(t);
      if (columns(t).element < 0) return;
      store(derivative<true, !one>(load(along_r + row_at(at), 1)), along_r + row_at(at), 1);
      store(derivative<true, !one>(load(along_s + file_at(at), stride)), along_s + file_at(at), stride);
    });
    team.each([&](int t) {
      const Place<n> at(t);
      const Column& column = columns(t);
      if (column.element < 0) return;
      const std::int64_t before = team.index() % components * all;
      double energy = 0;
      for (int k = 0; k < n; ++k) {
        const std::int64_t point = at.point(column.element, k);
        const int here = column_at(at) + k * plane;
        double value = h1 * (column.sum[k] + (along_r[here] + along_s[here]));
        if (mass != nullptr) value = fma(h2 * mass[point], column.u[k], value);
        out[before * (n * n * n) + point] = value;
        energy = fma(value, column.u[k], energy);
      }
      along_r[column_at(at)] = energy;
    });
    if (energies == nullptr) return;
    add_by_halves<n>(team, [&](int t) -> double& { return along_r[column_at(Place<n>(t))]; });
    team.each([&](int t) {
      if (t % (n * n) == 0 && columns(t).element >= 0)
        energies[team.index() % components * all + columns(t).element] = along_r[column_at(Place<n>(t))];
    });
  }
};

}  // namespace slipstream::sem

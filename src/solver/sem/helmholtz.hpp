#pragma once
// Helmholtz operator out = (h1 A + h2 B) in, element by element, with factors that vary from point to point.
#include <cmath>
#include <type_traits>

#include <slipstream/device/caches.hpp>

#include "solver/sem/kernels.hpp"
#include "solver/sem/plane.hpp"
#include "solver/sem/trilinear.hpp"

namespace slipstream::sem {

/// Scheme of Swirydowicz et al., Acceleration of tensor-product operations for high-order finite element methods
/// (2019), kernel BK5. Each thread holds a column of values and one of results. In each plane it computes derivatives
/// and multiplies them by G. Then it adds D^T along r and s to its column, and D^T along t to all planes.
///
/// Shared memory is accessed far more than device memory: 4 n values a point, and 2 n more of D along r and s. Entries
/// of D^T are never read, because w_m D_mi + w_i D_im is -1 at the first point of an edge, 1 at the last, else 0. This
/// is summation by parts, exact as the quadrature is. With g = f / w
///
///     sum over m of D_mi f_m = [i is last] g_i - [i is first] g_i - w_i sum over m of D_im g_m.
///
/// Along t rows of D are the launch's arguments, which cost no reads.
template <int n, Factors form, class T = double>
struct HelmholtzKernel {
  static_assert(std::is_same_v<T, double> || form == Factors::stored, "other factors are for double precision");
  static_assert(form != Factors::affine, "parallelepipeds have a kernel of their own");
  static constexpr int per_team = elements_of_a_team<n>, threads = per_team * n * n;
  /// Least number of thread blocks per multiprocessor, by which the compiler limits registers. With order 7, ten blocks
  /// need at most 96 registers a thread; the compiler would take 104.
  static constexpr int resident = n == 8 && form == Factors::stored ? (sizeof(T) == 8 ? 10 : 16) : 1;
  /// Stride between rows of a plane in shared memory. It is odd, because with even strides rows would share banks.
  static constexpr int stride = n | 1, plane_size = per_team * n * stride;
  static constexpr std::size_t shared_bytes = sizeof(T) * (n * n + 3 * n + 3 * plane_size);

  Basis<n, T> basis;
  const T* in;
  const T* factors;
  const T* mass;  ///< factors of the mass term at points; null: there is no mass term
  T* out;
  T h1, h2;
  std::int64_t elements;
  const std::int32_t* list;  ///< indices of the elements to process; null: the first ones
  T* energies;               ///< scalar product of in and out for each element; null: not wanted
  /// number of vector components; adjacent thread blocks process those of the same elements, whose metric stays cached
  int components;
  std::int64_t all;  ///< distance from one component to the next in the arrays in and out, in spectral elements
  int cost;

  struct Column {
    T u[n], sum[n];
    std::int32_t element;  ///< element of the thread; -1: the thread is idle
  };
  struct Products {
    T g[6];
  };
  /// Rows i and j of the derivative matrix D, for the thread of point (i, j), if registers hold them.
  struct Rows {
    T i[n], j[n];
  };
  /// The quadrature rule's tables in shared memory, which all threads of a team read.
  struct Tables {
    /// derivative matrix by columns, so that threads read adjacent numbers; quadrature weights, their inverses, points
    const T *d, *w, *inverse, *x;
  };

  /// Geometric factors weight |J| grad a . grad b at a point; a b = rr, rs, rt, ss, st, tt: coordinates in the element.
  SLIP_FN Products read(std::int64_t element, const Place<n>& at, int k, const Tables& tables) const {
    Products p;
    const T w = tables.w[at.i] * tables.w[at.j];
    if constexpr (form == Factors::trilinear) {
      trilinear_products(factors + element * 24, tables.x[at.i], tables.x[at.j], tables.x[k], w * tables.w[k], p.g);
    } else {
      const std::int64_t point = element * 6 * (n * n * n) + k * (n * n) + at.j * n + at.i;
      for (int c = 0; c < 6; ++c) p.g[c] = load_once(factors + point + c * (n * n * n));
    }
    return p;
  }
  static SLIP_FN int cell(const Place<n>& at) { return (at.slot * n + at.j) * stride + at.i; }
  /// The boundary term of summation by parts: 1 at the last point of an edge, -1 at the first, else 0.
  static SLIP_FN T end(int i) { return i == 0 ? -1 : i == n - 1 ? 1 : 0; }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    constexpr bool one = Team::sequential;
    // Loads of stored metric factors take long. More thread blocks hide this if registers hold no derivative matrix.
    constexpr bool keeps_rows = !one && form != Factors::stored;
    T* shared = team.template shared<T>();
    const Tables tables{shared, shared + n * n, shared + n * n + n, shared + n * n + 2 * n};
    T *plane = shared + n * n + 3 * n, *along_r = plane + plane_size, *along_s = along_r + plane_size;
    OfThread<Column, threads, one> columns;
    OfThread<Products, threads, one> products;
    OfThread<Rows, keeps_rows ? threads : 1, one> rows;
    const auto d_i = [&](int t, const Place<n>& at, int m) {
      if constexpr (keeps_rows) return rows(t).i[m];
      return tables.d[m * n + at.i];
    };
    const auto d_j = [&](int t, const Place<n>& at, int m) {
      if constexpr (keeps_rows) return rows(t).j[m];
      return tables.d[m * n + at.j];
    };
    team.each([&](int t) {
      for (int m = t; m < n * n; m += threads) shared[m] = basis.d[m % n * n + m / n];
      for (int m = t; m < n; m += threads) {
        shared[n * n + m] = basis.w[m];
        shared[n * n + n + m] = basis.inverse[m];
        shared[n * n + 2 * n + m] = basis.x[m];
      }
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
      plane[cell(seat)] = column.u[0];
      // Metric factors of the first plane are loaded with the values if stored; computing them needs quadrature tables.
      if constexpr (form == Factors::stored) products(t) = read(column.element, seat, 0, tables);
    });
    if constexpr (form != Factors::stored) {
      team.each([&](int t) {
        const Place<n> at(t);
        if (columns(t).element < 0) return;
        products(t) = read(columns(t).element, at, 0, tables);
        for (int m = 0; keeps_rows && m < n; ++m) {
          rows(t).i[m] = tables.d[m * n + at.i];
          rows(t).j[m] = tables.d[m * n + at.j];
        }
      });
    }
    for_planes<n, !Team::sequential>([&](int k) {
      team.each([&](int t) {
        const Place<n> at(t);
        Column& column = columns(t);
        if (column.element < 0) return;
        const T *row = plane + cell(at) - at.i, *file = plane + cell(at) - at.j * stride;
        T ur = 0, us = 0, ut = 0;
        for (int m = 0; m < n; ++m) {
          ur = fma(d_i(t, at, m), row[m], ur);
          us = fma(d_j(t, at, m), file[m * stride], us);
          ut = fma(basis.d[k * n + m], column.u[m], ut);
        }
        const T* g = products(t).g;
        const T r = tables.inverse[at.i] * fma(g[0], ur, fma(g[1], us, g[2] * ut));
        const T s = tables.inverse[at.j] * fma(g[1], ur, fma(g[3], us, g[4] * ut));
        const T along_t = fma(g[2], ur, fma(g[4], us, g[5] * ut));
        along_r[cell(at)] = r;
        along_s[cell(at)] = s;
        column.sum[k] = fma(end(at.i), r, fma(end(at.j), s, column.sum[k]));
        for (int m = 0; m < n; ++m) column.sum[m] = fma(basis.d[k * n + m], along_t, column.sum[m]);
      });
      team.each([&](int t) {
        const Place<n> at(t);
        Column& column = columns(t);
        if (column.element < 0) return;
        // Prefetches the metric factors of the next plane.
        if (k + 1 < n) products(t) = read(column.element, at, k + 1, tables);
        const T *row = along_r + cell(at) - at.i, *file = along_s + cell(at) - at.j * stride;
        T r = 0, s = 0;
        for (int m = 0; m < n; ++m) {
          r = fma(d_i(t, at, m), row[m], r);
          s = fma(d_j(t, at, m), file[m * stride], s);
        }
        column.sum[k] = fma(-tables.w[at.i], r, fma(-tables.w[at.j], s, column.sum[k]));
        if (k + 1 < n) plane[cell(at)] = column.u[k + 1];
      });
    });
    team.each([&](int t) {
      const Place<n> at(t);
      const Column& column = columns(t);
      if (column.element < 0) return;
      const std::int64_t before = team.index() % components * all;
      T energy = 0;
      for (int k = 0; k < n; ++k) {
        const std::int64_t point = at.point(column.element, k);
        T value = h1 * column.sum[k];
        if (mass != nullptr) value = fma(h2 * mass[point], column.u[k], value);
        out[before * (n * n * n) + point] = value;
        energy = fma(value, column.u[k], energy);
      }
      plane[t] = energy;
    });
    if (energies == nullptr) return;
    add_by_halves<n>(team, [&](int t) -> T& { return plane[t]; });
    team.each([&](int t) {
      if (t % (n * n) == 0 && columns(t).element >= 0)
        energies[team.index() % components * all + columns(t).element] = plane[t];
    });
  }
};

}  // namespace slipstream::sem

// Stencil kernels on single cells (sources, receivers), and reductions over all cells.
#include <cmath>

#include <slipstream/launch.hpp>

#include "solver/stencil/kernels.hpp"

namespace slipstream::stencil {
inline namespace points_kernels {

const Box one{{0, 0, 0}, {1, 1, 1}};

/// Several sources may share a cell, so one thread adds them in their order.
template <class T>
struct Shoot {
  T* next;
  const Shot* shots;
  int count;
  const std::int64_t* done;
  double time_step;
  SLIP_FN void operator()(int, int, int) const {
    constexpr double pi = 3.14159265358979323846;
    for (int n = 0; n < count; ++n) {
      const Shot& shot = shots[n];
      const double phase = pi * shot.frequency * (static_cast<double>(*done) * time_step - shot.delay);
      const double a = phase * phase;
      next[shot.at] += static_cast<T>(shot.factor * (1 - 2 * a) * exp(-a));
    }
  }
};

template <class T>
struct Listen {
  const T* next;
  const std::int64_t* places;
  const std::int64_t* done;
  double* table;
  std::int64_t rows, columns;
  SLIP_FN void operator()(int n, int, int) const {
    table[*done % rows * columns + n] = static_cast<double>(next[places[n]]);
  }
};

struct CountStep {
  std::int64_t* done;
  SLIP_FN void operator()(int, int, int) const { ++*done; }
};

SLIP_FN double larger(double a, double b) { return a != a || a > b ? a : b; }

template <class T>
struct RowDifference {
  const T *a, *b;
  Strides strides;
  int cells, rows;
  double* result;
  SLIP_FN void operator()(int j, int k, int) const {
    double largest = 0;
    for (int i = 0; i < cells; ++i) {
      const double off = static_cast<double>(a[strides.at(i, j, k)]) - static_cast<double>(b[strides.at(i, j, k)]);
      largest = larger(off < 0 ? -off : off, largest);
    }
    result[static_cast<std::int64_t>(k) * rows + j] = largest;
  }
};

struct LargestOf {
  const double* from;
  int count;
  double* to;
  SLIP_FN void operator()(int n, int, int) const {
    double largest = 0;
    for (int m = 0; m < count; ++m) largest = larger(from[static_cast<std::int64_t>(n) * count + m], largest);
    to[n] = largest;
  }
};

}  // namespace points_kernels

void shoot(Stream& stream, DType type, void* next, const Shot* shots, int count, const std::int64_t* done,
           double time_step) {
  if (type == DType::f32) launch(stream, one, Shoot<float>{static_cast<float*>(next), shots, count, done, time_step});
  if (type == DType::f64) launch(stream, one, Shoot<double>{static_cast<double*>(next), shots, count, done, time_step});
}

void listen(Stream& stream, DType type, const void* next, const std::int64_t* places, int count,
            const std::int64_t* done, double* table, std::int64_t rows, std::int64_t columns) {
  const Box all{{0, 0, 0}, {count, 1, 1}};
  if (type == DType::f32)
    launch(stream, all, Listen<float>{static_cast<const float*>(next), places, done, table, rows, columns});
  if (type == DType::f64)
    launch(stream, all, Listen<double>{static_cast<const double*>(next), places, done, table, rows, columns});
}

void count_step(Stream& stream, std::int64_t* done) { launch(stream, one, CountStep{done}); }

void largest_difference(Stream& stream, DType type, const void* a, const void* b, const Strides& strides,
                        const Extent& extent, double* rows, double* planes, double* result) {
  const int nx = static_cast<int>(extent[0]), ny = static_cast<int>(extent[1]), nz = static_cast<int>(extent[2]);
  const Box all{{0, 0, 0}, {ny, nz, 1}};
  if (type == DType::f32)
    launch(stream, all,
           RowDifference<float>{static_cast<const float*>(a), static_cast<const float*>(b), strides, nx, ny, rows});
  if (type == DType::f64)
    launch(stream, all,
           RowDifference<double>{static_cast<const double*>(a), static_cast<const double*>(b), strides, nx, ny, rows});
  launch(stream, {{0, 0, 0}, {nz, 1, 1}}, LargestOf{rows, ny, planes});
  launch(stream, one, LargestOf{planes, nz, result});
}

}  // namespace slipstream::stencil

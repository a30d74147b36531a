#include <cmath>

#include <slipstream/launch.hpp>

#include "solver/dns/kernels.hpp"

namespace slipstream::dns {
inline namespace modes_kernels {

template <class T>
struct Complex {
  T re, im;
};

template <class T>
SLIP_FN Complex<T> load(const Three<T>& array, std::int64_t at, int c) {
  const T* const value = array.at + 2 * at + c * array.step;
  return {value[0], value[1]};
}
template <class T>
SLIP_FN void store(const Three<T>& array, std::int64_t at, int c, const Complex<T>& value) {
  T* const to = array.at + 2 * at + c * array.step;
  to[0] = value.re;
  to[1] = value.im;
}

template <class T>
struct Stage {
  ModeGrid grid;
  StageArrays<T> arrays;
  StageFactors factors;
  T decay;   // nu dt / 2
  T normal;  // of a transform
  T forcing;
  T forced;  // k^2 below which modes are forced

  SLIP_FN static T power(T e, int exponent) { return exponent == 0 ? T(1) : exponent == 1 ? e : e * e; }

  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = grid.at(i, j, k);
    const int kx = grid.kx(j), ky = grid.ky(k), kz = grid.kz(i);
    if (!grid.kept(kx, ky, kz)) return nothing(at);
    const T wave[3] = {T(kx), T(ky), T(kz)};
    const T square = wave[0] * wave[0] + wave[1] * wave[1] + wave[2] * wave[2];
    const T e = std::exp(-decay * square);
    Complex<T> n[3], along{0, 0};
    for (int c = 0; c < 3; ++c) {
      n[c] = load(arrays.rhs, at, c);
      along.re += wave[c] * n[c].re;
      along.im += wave[c] * n[c].im;
    }
    const T over = square > 0 ? T(1) / square : T(0);
    const T push = square > 0 && square < forced ? forcing : T(0);
    const T mean = square > 0 ? normal : T(0);  // the mean velocity stays
    for (int c = 0; c < 3; ++c) {
      n[c].re = (n[c].re - wave[c] * along.re * over) * mean;
      n[c].im = (n[c].im - wave[c] * along.im * over) * mean;
      advance(at, c, n[c], e, push);
    }
  }

  SLIP_FN void advance(std::int64_t at, int c, Complex<T> n, T e, T push) const {
    const Complex<T> u = factors.last ? Complex<T>{0, 0} : load(arrays.u, at, c);
    if (push != T(0) && factors.pushes) {
      const Complex<T> now = factors.first ? u : load(arrays.now, at, c);
      n.re += push * now.re;
      n.im += push * now.im;
    }
    const T e2 = e * e, to_sum = T(factors.sum_n) * power(e, factors.sum_e);
    Complex<T> sum = factors.first ? Complex<T>{e2 * u.re, e2 * u.im} : load(arrays.sum, at, c);
    sum.re += to_sum * n.re;
    sum.im += to_sum * n.im;
    if (factors.last) return store(arrays.u, at, c, sum);
    const T of_u = power(e, factors.next_e), of_n = T(factors.next_n) * power(e, factors.next_n_e);
    const Complex<T> next{of_u * u.re + of_n * n.re, of_u * u.im + of_n * n.im};
    if (push != T(0) && factors.ahead != 0) {
      const T ahead = T(factors.ahead) * push;
      sum.re += ahead * next.re;
      sum.im += ahead * next.im;
    }
    store(arrays.sum, at, c, sum);
    store(arrays.next, at, c, next);
    if (arrays.now.at) store(arrays.now, at, c, next);
  }

  /// Transforms read zeros there.
  SLIP_FN void nothing(std::int64_t at) const {
    for (int c = 0; c < 3; ++c) store(factors.last ? arrays.u : arrays.next, at, c, Complex<T>{0, 0});
  }
};

template <class T>
struct Curl {
  ModeGrid grid;
  Three<T> u, curl;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = grid.at(i, j, k);
    const int kx = grid.kx(j), ky = grid.ky(k), kz = grid.kz(i);
    if (!grid.kept(kx, ky, kz)) {  // transforms leave what they like there
      for (int c = 0; c < 3; ++c) store(curl, at, c, Complex<T>{0, 0});
      return;
    }
    const T x = T(kx), y = T(ky), z = T(kz);
    const Complex<T> a = load(u, at, 0), b = load(u, at, 1), c = load(u, at, 2);
    store(curl, at, 0, Complex<T>{z * b.im - y * c.im, y * c.re - z * b.re});
    store(curl, at, 1, Complex<T>{x * c.im - z * a.im, z * a.re - x * c.re});
    store(curl, at, 2, Complex<T>{y * a.im - x * b.im, x * b.re - y * a.re});
  }
};

template <class T>
struct Gradient {
  ModeGrid grid;
  Three<T> u, gradient;
  SLIP_FN void operator()(int i, int j, int k) const {
    const T wave[2] = {T(grid.kx(j)), T(grid.ky(k))};
    for (int c = 0; c < 2; ++c) {
      const Complex<T> value = load(u, grid.at(i, j, k), c);
      store(gradient, grid.at(i, j, k), c, Complex<T>{-wave[c] * value.im, wave[c] * value.re});
    }
  }
};

template <class T>
struct Cross {
  int nx, ny;
  Three<T> u, w;
  bool turns;
  T turn[3];
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = (static_cast<std::int64_t>(k) * ny + j) * nx + i;
    const T *const a = u.at + at, *const b = a + u.step, *const c = b + u.step;
    T *const x = w.at + at, *const y = x + w.step, *const z = y + w.step;
    const T ux = *a, uy = *b, uz = *c;
    T wx = *x, wy = *y, wz = *z;
    if (turns) {
      wx += turn[0];
      wy += turn[1];
      wz += turn[2];
    }
    *x = uy * wz - uz * wy;
    *y = uz * wx - ux * wz;
    *z = ux * wy - uy * wx;
  }
};

template <class T>
struct Project {
  ModeGrid grid;
  Three<T> u;
  T factor;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = grid.at(i, j, k);
    const int kx = grid.kx(j), ky = grid.ky(k), kz = grid.kz(i);
    const T kept = grid.kept(kx, ky, kz) ? factor : T(0);
    const T wave[3] = {T(kx), T(ky), T(kz)};
    const T square = wave[0] * wave[0] + wave[1] * wave[1] + wave[2] * wave[2];
    const T over = square > 0 ? T(1) / square : T(0);
    Complex<T> value[3], along{0, 0};
    for (int c = 0; c < 3; ++c) {
      value[c] = load(u, at, c);
      along.re += wave[c] * value[c].re;
      along.im += wave[c] * value[c].im;
    }
    for (int c = 0; c < 3; ++c)
      store(u, at, c,
            Complex<T>{(value[c].re - wave[c] * along.re * over) * kept,
                       (value[c].im - wave[c] * along.im * over) * kept});
  }
};

template <class T>
struct Scale {
  ModeGrid grid;
  Three<T> u;
  T scaled;  // k^2 below which modes are
  T factor;
  SLIP_FN void operator()(int i, int j, int k) const {
    const T kx = T(grid.kx(j)), ky = T(grid.ky(k)), kz = T(grid.kz(i)), square = kx * kx + ky * ky + kz * kz;
    if (!(square > 0 && square < scaled)) return;
    for (int c = 0; c < 3; ++c) {
      const Complex<T> value = load(u, grid.at(i, j, k), c);
      store(u, grid.at(i, j, k), c, Complex<T>{value.re * factor, value.im * factor});
    }
  }
};

template <class T>
struct LineSums {
  ModeGrid grid;
  Three<T> u;
  double forced;
  double* sums;
  SLIP_FN void operator()(int j, int k, int) const {
    double energy = 0, squares = 0, low = 0, mean[3] = {0, 0, 0};
    const double kx = grid.kx(j), ky = grid.ky(k);
    for (int i = 0; i < grid.extent[0]; ++i) {
      const double kz = grid.kz(i), square = kx * kx + ky * ky + kz * kz;
      double of_mode = 0;
      for (int c = 0; c < 3; ++c) {
        const Complex<T> value = load(u, grid.at(i, j, k), c);
        if (square > 0)
          of_mode += static_cast<double>(value.re) * value.re + static_cast<double>(value.im) * value.im;
        else
          mean[c] = static_cast<double>(value.re);
      }
      energy += of_mode;
      squares += square * of_mode;
      if (square < forced) low += of_mode;
    }
    const double half = 0.5 * grid.weight(grid.kx(j));
    double* const to = sums + line_sums * (static_cast<std::int64_t>(k) * grid.extent[1] + j);
    to[0] = half * energy;
    to[1] = half * squares;
    to[2] = half * low;
    for (int c = 0; c < 3; ++c) to[3 + c] = mean[c];
  }
};

/// The largest whole number whose square is at most n.
SLIP_FN int root_of(int n) {
  int root = static_cast<int>(std::sqrt(static_cast<double>(n)));
  while (root * root > n) --root;
  while ((root + 1) * (root + 1) <= n) ++root;
  return root;
}

/// Neighbours in `shell` read neighbours along z.
template <class T>
struct ShellSums {
  ModeGrid grid;
  Three<T> u;
  int shells;
  double* sums;

  SLIP_FN double square(int kz, int j, int k) const {
    const int i = kz - grid.first[2] + (kz < grid.first[2] ? grid.cells[2] : 0);
    double sum = 0;
    for (int c = 0; c < 3; ++c) {
      const Complex<T> value = load(u, grid.at(i, j, k), c);
      sum += static_cast<double>(value.re) * value.re + static_cast<double>(value.im) * value.im;
    }
    return sum;
  }
  SLIP_FN void operator()(int shell, int k, int) const {
    const int ky = grid.ky(k), least = shell > 0 ? shell * shell - shell + 1 : 0, most = shell * shell + shell;
    double energy = 0;
    for (int j = 0; j < grid.extent[1]; ++j) {
      const int kx = grid.kx(j), flat = kx * kx + ky * ky;
      if (flat > most || !grid.kept(kx, ky, 0)) continue;
      int last = root_of(most - flat);
      if (last > grid.highest[2]) last = grid.highest[2];
      double of_line = 0;
      for (int kz = flat < least ? root_of(least - flat - 1) + 1 : 0; kz <= last; ++kz)
        of_line += kz == 0 ? square(0, j, k) : square(kz, j, k) + square(-kz, j, k);
      energy += 0.5 * grid.weight(kx) * of_line;
    }
    sums[static_cast<std::int64_t>(k) * shells + shell] = energy;
  }
};

template <class T>
struct LineMoments {
  int nx, ny;
  Three<T> gradient;
  double* moments;
  SLIP_FN void operator()(int j, int k, int) const {
    const std::int64_t line = static_cast<std::int64_t>(k) * ny + j;
    for (int c = 0; c < 3; ++c) {
      double second = 0, third = 0, fourth = 0;
      for (int i = 0; i < nx; ++i) {
        const auto of = [&](int a) { return static_cast<double>(gradient.at[line * nx + i + a * gradient.step]); };
        const double g = c < 2 ? of(c) : -(of(0) + of(1));
        second += g * g;
        third += g * g * g;
        fourth += g * g * g * g;
      }
      double* const to = moments + line_moments * line + 3 * c;
      to[0] = second;
      to[1] = third;
      to[2] = fourth;
    }
  }
};

template <class T>
struct LineSpeeds {
  int nx, ny;
  Three<T> u;
  double scale[3];
  double* speeds;
  SLIP_FN void operator()(int j, int k, int) const {
    const std::int64_t line = static_cast<std::int64_t>(k) * ny + j;
    double most = 0;
    for (int i = 0; i < nx; ++i) {
      double speed = 0;
      for (int c = 0; c < 3; ++c) speed += std::abs(static_cast<double>(u.at[line * nx + i + c * u.step])) * scale[c];
      if (!(speed <= most)) most = speed;  // keeps a NaN
    }
    speeds[line] = most;
  }
};

/// Modes with |k| <= shells + 1/2.
double below(int shells) { return (shells + 0.5) * (shells + 0.5); }

}  // namespace modes_kernels

template <class T>
void queue_stage(Stream& stream, const ModeGrid& grid, const StageArrays<T>& arrays, const StageFactors& factors,
                 const StageNumbers& numbers) {
  const double cells = static_cast<double>(grid.cells[0]) * grid.cells[1] * grid.cells[2];
  launch(stream, grid.box(),
         Stage<T>{grid, arrays, factors, T(numbers.viscosity * numbers.time_step / 2), T(1 / cells), T(numbers.forcing),
                  T(below(numbers.forced))});
}

template <class T>
void queue_curl(Stream& stream, const ModeGrid& grid, const Three<T>& u, const Three<T>& curl) {
  launch(stream, grid.box(), Curl<T>{grid, u, curl});
}

template <class T>
void queue_gradient(Stream& stream, const ModeGrid& grid, const Three<T>& u, const Three<T>& gradient) {
  launch(stream, grid.box(), Gradient<T>{grid, u, gradient});
}

template <class T>
void queue_cross(Stream& stream, const Extent& cells, const Three<T>& u, const Three<T>& w,
                 const std::array<double, 3>& rotation) {
  launch(stream, {{0, 0, 0}, cells},
         Cross<T>{static_cast<int>(cells[0]),
                  static_cast<int>(cells[1]),
                  u,
                  w,
                  rotation != std::array<double, 3>{},
                  {T(2 * rotation[0]), T(2 * rotation[1]), T(2 * rotation[2])}});
}

template <class T>
void queue_project(Stream& stream, const ModeGrid& grid, const Three<T>& u, double factor) {
  launch(stream, grid.box(), Project<T>{grid, u, T(factor)});
}

template <class T>
void queue_scale(Stream& stream, const ModeGrid& grid, const Three<T>& u, int shells, double factor) {
  launch(stream, grid.box(), Scale<T>{grid, u, T(below(shells)), T(factor)});
}

template <class T>
void queue_line_sums(Stream& stream, const ModeGrid& grid, const Three<T>& u, int shells, double* sums) {
  launch(stream, {{0, 0, 0}, {grid.extent[1], grid.extent[2], 1}}, LineSums<T>{grid, u, below(shells), sums});
}

template <class T>
void queue_shell_sums(Stream& stream, const ModeGrid& grid, const Three<T>& u, int shells, double* sums) {
  launch(stream, {{0, 0, 0}, {shells, grid.extent[2], 1}}, ShellSums<T>{grid, u, shells, sums});
}

template <class T>
void queue_line_moments(Stream& stream, const Extent& cells, const Three<T>& gradient, double* moments) {
  launch(stream, {{0, 0, 0}, {cells[1], cells[2], 1}},
         LineMoments<T>{static_cast<int>(cells[0]), static_cast<int>(cells[1]), gradient, moments});
}

template <class T>
void queue_line_speeds(Stream& stream, const Extent& cells, const Three<T>& u, const double (&scale)[3],
                       double* speeds) {
  launch(
      stream, {{0, 0, 0}, {cells[1], cells[2], 1}},
      LineSpeeds<T>{static_cast<int>(cells[0]), static_cast<int>(cells[1]), u, {scale[0], scale[1], scale[2]}, speeds});
}

template void queue_stage<float>(Stream&, const ModeGrid&, const StageArrays<float>&, const StageFactors&,
                                 const StageNumbers&);
template void queue_curl<float>(Stream&, const ModeGrid&, const Three<float>&, const Three<float>&);
template void queue_gradient<float>(Stream&, const ModeGrid&, const Three<float>&, const Three<float>&);
template void queue_cross<float>(Stream&, const Extent&, const Three<float>&, const Three<float>&,
                                 const std::array<double, 3>&);
template void queue_project<float>(Stream&, const ModeGrid&, const Three<float>&, double);
template void queue_scale<float>(Stream&, const ModeGrid&, const Three<float>&, int, double);
template void queue_line_sums<float>(Stream&, const ModeGrid&, const Three<float>&, int, double*);
template void queue_shell_sums<float>(Stream&, const ModeGrid&, const Three<float>&, int, double*);
template void queue_line_moments<float>(Stream&, const Extent&, const Three<float>&, double*);
template void queue_line_speeds<float>(Stream&, const Extent&, const Three<float>&, const double (&)[3], double*);
template void queue_stage<double>(Stream&, const ModeGrid&, const StageArrays<double>&, const StageFactors&,
                                  const StageNumbers&);
template void queue_curl<double>(Stream&, const ModeGrid&, const Three<double>&, const Three<double>&);
template void queue_gradient<double>(Stream&, const ModeGrid&, const Three<double>&, const Three<double>&);
template void queue_cross<double>(Stream&, const Extent&, const Three<double>&, const Three<double>&,
                                  const std::array<double, 3>&);
template void queue_project<double>(Stream&, const ModeGrid&, const Three<double>&, double);
template void queue_scale<double>(Stream&, const ModeGrid&, const Three<double>&, int, double);
template void queue_line_sums<double>(Stream&, const ModeGrid&, const Three<double>&, int, double*);
template void queue_shell_sums<double>(Stream&, const ModeGrid&, const Three<double>&, int, double*);
template void queue_line_moments<double>(Stream&, const Extent&, const Three<double>&, double*);
template void queue_line_speeds<double>(Stream&, const Extent&, const Three<double>&, const double (&)[3], double*);

}  // namespace slipstream::dns

#include <cmath>
#include <type_traits>

#include <slipstream/launch.hpp>

#include "mover/combine.hpp"
#include "solver/dns/advance.hpp"
#include "solver/dns/complex.hpp"

namespace slipstream::dns {
inline namespace modes_kernels {

/// Converts integer wave numbers to those of the box. `stretched`: edges differ from 2 pi; otherwise both are equal.
template <class T, bool stretched>
struct Waves {
  T wave[3];
  explicit Waves(const ModeGrid& grid) : wave{T(grid.wave[0]), T(grid.wave[1]), T(grid.wave[2])} {}
  SLIP_FN T of(int axis, int k) const {
    if constexpr (stretched) return T(k) * wave[axis];
    return T(k);
  }
};

template <class T, bool stretched>
struct Stage {
  ModeGrid grid;
  Waves<T, stretched> waves;
  Advance<T> advance;
  T decay;   // nu dt / 2: viscous decay e^(-decay k^2)
  T normal;  // factor that normalises a transform
  T forcing;
  T forced;  // modes with k^2 below it are forced

  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = grid.at(i, j, k);
    const int kx = grid.kx(j), ky = grid.ky(k), kz = grid.kz(i);
    if (!grid.kept(kx, ky, kz)) {
      for (int c = 0; c < 3; ++c) advance.nothing(at, c);
      return;
    }
    const T wave[3] = {waves.of(0, kx), waves.of(1, ky), waves.of(2, kz)};
    const T square = wave[0] * wave[0] + wave[1] * wave[1] + wave[2] * wave[2];
    const T e = std::exp(-decay * square);
    Complex<T> n[3], along{0, 0};
    for (int c = 0; c < 3; ++c) {
      n[c] = load(advance.arrays.rhs, at, c);
      along.real += wave[c] * n[c].real;
      along.imaginary += wave[c] * n[c].imaginary;
    }
    const T over = square > 0 ? T(1) / square : T(0);
    const T push = square > 0 && square < forced ? forcing : T(0);
    const T mean = square > 0 ? normal : T(0);  // the mean velocity stays constant
    for (int c = 0; c < 3; ++c) {
      n[c].real = (n[c].real - wave[c] * along.real * over) * mean;
      n[c].imaginary = (n[c].imaginary - wave[c] * along.imaginary * over) * mean;
      advance(at, c, n[c], e, push);
    }
  }
};

template <class T, bool stretched>
struct Curl {
  ModeGrid grid;
  Waves<T, stretched> waves;
  Three<T> u, curl;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = grid.at(i, j, k);
    const int kx = grid.kx(j), ky = grid.ky(k), kz = grid.kz(i);
    if (!grid.kept(kx, ky, kz)) {  // a transform leaves truncated modes undefined
      for (int c = 0; c < 3; ++c) store(curl, at, c, Complex<T>{0, 0});
      return;
    }
    const T x = waves.of(0, kx), y = waves.of(1, ky), z = waves.of(2, kz);
    const Complex<T> a = load(u, at, 0), b = load(u, at, 1), c = load(u, at, 2);
    store(curl, at, 0, Complex<T>{z * b.imaginary - y * c.imaginary, y * c.real - z * b.real});
    store(curl, at, 1, Complex<T>{x * c.imaginary - z * a.imaginary, z * a.real - x * c.real});
    store(curl, at, 2, Complex<T>{y * a.imaginary - x * b.imaginary, x * b.real - y * a.real});
  }
};

template <class T>
struct Gradient {
  ModeGrid grid;
  Three<T> u, gradient;
  SLIP_FN void operator()(int i, int j, int k) const {
    const T wave[2] = {T(grid.kx(j) * grid.wave[0]), T(grid.ky(k) * grid.wave[1])};
    for (int c = 0; c < 2; ++c) {
      const Complex<T> value = load(u, grid.at(i, j, k), c);
      store(gradient, grid.at(i, j, k), c, Complex<T>{-wave[c] * value.imaginary, wave[c] * value.real});
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
    const T kept = grid.holds(kx, ky, kz) ? factor : T(0);
    const T wave[3] = {T(kx * grid.wave[0]), T(ky * grid.wave[1]), T(kz * grid.wave[2])};
    const T square = wave[0] * wave[0] + wave[1] * wave[1] + wave[2] * wave[2];
    const T over = square > 0 ? T(1) / square : T(0);
    Complex<T> value[3], along{0, 0};
    for (int c = 0; c < 3; ++c) {
      value[c] = load(u, at, c);
      along.real += wave[c] * value[c].real;
      along.imaginary += wave[c] * value[c].imaginary;
    }
    for (int c = 0; c < 3; ++c)
      store(u, at, c,
            Complex<T>{(value[c].real - wave[c] * along.real * over) * kept,
                       (value[c].imaginary - wave[c] * along.imaginary * over) * kept});
  }
};

template <class T>
struct Scale {
  ModeGrid grid;
  Three<T> u;
  double scaled;  // square of |k|, in shells, below which modes are scaled
  T factor;
  SLIP_FN void operator()(int i, int j, int k) const {
    const double square = grid.shell_square(grid.kx(j), grid.ky(k), grid.kz(i));
    if (!(square > 0 && square < scaled)) return;
    for (int c = 0; c < 3; ++c) {
      const Complex<T> value = load(u, grid.at(i, j, k), c);
      store(u, grid.at(i, j, k), c, Complex<T>{value.real * factor, value.imaginary * factor});
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
    const int kx = grid.kx(j), ky = grid.ky(k);
    for (int i = 0; i < grid.extent[0]; ++i) {
      const double square = grid.square(kx, ky, grid.kz(i));
      double of_mode = 0;
      for (int c = 0; c < 3; ++c) {
        const Complex<T> value = load(u, grid.at(i, j, k), c);
        if (square > 0)
          of_mode +=
              static_cast<double>(value.real) * value.real + static_cast<double>(value.imaginary) * value.imaginary;
        else
          mean[c] = static_cast<double>(value.real);
      }
      energy += of_mode;
      squares += square * of_mode;
      if (grid.shell_square(kx, ky, grid.kz(i)) < forced) low += of_mode;
    }
    const double half = 0.5 * grid.weight(kx);
    double* const to = sums + line_sums * grid.line(j, k);
    to[0] = half * energy;
    to[1] = half * squares;
    to[2] = half * low;
    for (int c = 0; c < 3; ++c) to[3 + c] = mean[c];
  }
};

/// Sums a quantity over shells: adjacent threads take adjacent shells, and so read adjacent modes along z.
template <class T>
struct ShellSums {
  ModeGrid grid;
  Three<T> u, v;
  int components, shells;
  double* sums;

  SLIP_FN double product(int kz, int j, int k) const {
    const int i = kz - grid.first[2] + (kz < grid.first[2] ? grid.cells[2] : 0);
    double sum = 0;
    for (int c = 0; c < components; ++c) {
      const Complex<T> a = load(u, grid.at(i, j, k), c), b = load(v, grid.at(i, j, k), c);
      sum += static_cast<double>(a.real) * b.real + static_cast<double>(a.imaginary) * b.imaginary;
    }
    return sum;
  }
  /// The least k_z >= 0 whose square is at least `least`, in units of the shells' width.
  SLIP_FN static int from(double least, double ratio) {
    int k = least > 0 ? static_cast<int>(std::sqrt(least) / ratio) : 0;
    while (k > 0 && square(k - 1, ratio) >= least) --k;
    while (square(k, ratio) < least) ++k;
    return k;
  }
  SLIP_FN static double square(int k, double ratio) { return (k * ratio) * (k * ratio); }

  SLIP_FN void operator()(int shell, int k, int) const {
    const int ky = grid.ky(k);
    const double ratio = grid.wave[2] / grid.shell, outer = (shell + 0.5) * (shell + 0.5),
                 inner = shell > 0 ? (shell - 0.5) * (shell - 0.5) : 0;
    double* const to = sums + static_cast<std::int64_t>(k) * shells + shell;
    double all = grid.before > 0 ? *to : 0;
    for (int j = 0; j < grid.extent[1]; ++j) {
      const int kx = grid.kx(j);
      const double flat = grid.shell_square(kx, ky, 0);
      if (flat >= outer || !grid.kept(kx, ky, 0)) continue;
      int behind = from(outer - flat, ratio);
      if (behind > grid.highest[2] + 1) behind = grid.highest[2] + 1;
      double of_line = 0;
      for (int kz = from(inner - flat, ratio); kz < behind; ++kz)
        of_line += kz == 0 ? product(0, j, k) : product(kz, j, k) + product(-kz, j, k);
      all += 0.5 * grid.weight(kx) * of_line;
    }
    *to = all;
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
      most = combine(Op::max, most, speed);  // the largest scaled speed of a grid line is NaN if any value is NaN
    }
    speeds[line] = most;
  }
};

/// Square of shells + 1/2, the largest |k| of a mode in these shells, in units of their width.
double below(int shells) { return (shells + 0.5) * (shells + 0.5); }

template <class F>
void by_edges(const ModeGrid& grid, const F& f) {
  if (grid.stretched()) {
    f(std::true_type{});
  } else {
    f(std::false_type{});
  }
}

}  // namespace modes_kernels

template <class T>
void queue_stage(Stream& stream, const ModeGrid& grid, const StageArrays<T>& arrays, const StageFactors& factors,
                 const StageNumbers& numbers) {
  const double cells = static_cast<double>(grid.cells[0]) * grid.cells[1] * grid.cells[2];
  const T decay = T(numbers.viscosity * numbers.time_step / 2), normal = T(1 / cells), forcing = T(numbers.forcing),
          forced = T(grid.shell * grid.shell * below(numbers.forced));
  by_edges(grid, [&]<bool stretched>(std::bool_constant<stretched>) {
    launch(stream, grid.box(),
           Stage<T, stretched>{grid, Waves<T, stretched>(grid), {arrays, factors}, decay, normal, forcing, forced});
  });
}

template <class T>
void queue_curl(Stream& stream, const ModeGrid& grid, const Three<T>& u, const Three<T>& curl) {
  by_edges(grid, [&]<bool stretched>(std::bool_constant<stretched>) {
    launch(stream, grid.box(), Curl<T, stretched>{grid, Waves<T, stretched>(grid), u, curl});
  });
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
  launch(stream, grid.box(), Scale<T>{grid, u, below(shells), T(factor)});
}

template <class T>
void queue_line_sums(Stream& stream, const ModeGrid& grid, const Three<T>& u, int shells, double* sums) {
  launch(stream, {{0, 0, 0}, {grid.extent[1], grid.extent[2], 1}}, LineSums<T>{grid, u, below(shells), sums});
}

template <class T>
void queue_shell_sums(Stream& stream, const ModeGrid& grid, const Three<T>& u, const Three<T>& v, int components,
                      int shells, double* sums) {
  launch(stream, {{0, 0, 0}, {shells, grid.extent[2], 1}}, ShellSums<T>{grid, u, v, components, shells, sums});
}

template <class T>
void queue_line_moments(Stream& stream, const Extent& cells, const Three<T>& gradient, double* moments) {
  launch(stream, {{0, 0, 0}, {cells[1], cells[2], 1}},
         LineMoments<T>{static_cast<int>(cells[0]), static_cast<int>(cells[1]), gradient, moments});
}

template <class T>
void queue_line_speeds(Stream& stream, const Extent& cells, const Three<T>& u, const std::array<double, 3>& scale,
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
template void queue_shell_sums<float>(Stream&, const ModeGrid&, const Three<float>&, const Three<float>&, int, int,
                                      double*);
template void queue_line_moments<float>(Stream&, const Extent&, const Three<float>&, double*);
template void queue_line_speeds<float>(Stream&, const Extent&, const Three<float>&, const std::array<double, 3>&,
                                       double*);
template void queue_stage<double>(Stream&, const ModeGrid&, const StageArrays<double>&, const StageFactors&,
                                  const StageNumbers&);
template void queue_curl<double>(Stream&, const ModeGrid&, const Three<double>&, const Three<double>&);
template void queue_gradient<double>(Stream&, const ModeGrid&, const Three<double>&, const Three<double>&);
template void queue_cross<double>(Stream&, const Extent&, const Three<double>&, const Three<double>&,
                                  const std::array<double, 3>&);
template void queue_project<double>(Stream&, const ModeGrid&, const Three<double>&, double);
template void queue_scale<double>(Stream&, const ModeGrid&, const Three<double>&, int, double);
template void queue_line_sums<double>(Stream&, const ModeGrid&, const Three<double>&, int, double*);
template void queue_shell_sums<double>(Stream&, const ModeGrid&, const Three<double>&, const Three<double>&, int, int,
                                       double*);
template void queue_line_moments<double>(Stream&, const Extent&, const Three<double>&, double*);
template void queue_line_speeds<double>(Stream&, const Extent&, const Three<double>&, const std::array<double, 3>&,
                                        double*);

}  // namespace slipstream::dns

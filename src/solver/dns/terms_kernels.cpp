#include "solver/dns/terms.hpp"

#include <cmath>

#include <slipstream/launch.hpp>

#include "solver/dns/advance.hpp"
#include "solver/dns/complex.hpp"

namespace slipstream::dns {
inline namespace terms_kernels {

template <class T>
struct Turn {
  ModeGrid grid;
  Three<T> from, to;
  int components;
  double turn[3], factor;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = grid.at(i, j, k);
    const int kx = grid.kx(j), ky = grid.ky(k), kz = grid.kz(i);
    if (!grid.holds(kx, ky, kz)) {
      for (int c = 0; c < components; ++c) store(to, at, c, Complex<T>{0, 0});
      return;
    }
    const double angle = kx * turn[0] + ky * turn[1] + kz * turn[2];
    const T re = T(factor * std::cos(angle)), im = T(factor * std::sin(angle));
    for (int c = 0; c < components; ++c) {
      const Complex<T> value = load(from, at, c);
      store(to, at, c, Complex<T>{value.real * re - value.imaginary * im, value.real * im + value.imaginary * re});
    }
  }
};

template <class T>
struct Slopes {
  ModeGrid grid;
  Three<T> of;
  int component;
  Three<T> to;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = grid.at(i, j, k);
    const int wave[3] = {grid.kx(j), grid.ky(k), grid.kz(i)};
    Complex<T> value{0, 0};
    if (grid.kept(wave[0], wave[1], wave[2])) value = load(of, at, component);
    for (int a = 0; a < 3; ++a) {
      const T slope = T(wave[a] * grid.wave[a]);
      store(to, at, a, Complex<T>{-slope * value.imaginary, slope * value.real});
    }
  }
};

template <class T>
struct ScalarAlongZ {
  ModeGrid grid;
  Three<T> of;
  int component;
  Three<T> to;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = grid.at(i, j, k);
    const Complex<T> value = load(of, at, component);
    const T slope = T(grid.kz(i) * grid.wave[2]);
    store(to, at, 0, value);
    store(to, at, 1, Complex<T>{-slope * value.imaginary, slope * value.real});
  }
};

template <class T>
struct Advection {
  int nx, ny;
  Three<T> u, along;
  T gradient[3];
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = (static_cast<std::int64_t>(k) * ny + j) * nx + i;
    T sum = 0;
    for (int a = 0; a < 3; ++a) sum += u.at[at + a * u.step] * (along.at[at + a * along.step] + gradient[a]);
    along.at[at] = -sum;
  }
};

template <class T>
struct ScalarStage {
  ModeGrid grid;
  Advance<T> advance;
  int component;
  const T* rhs;
  T decay, normal;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = grid.at(i, j, k);
    const int kx = grid.kx(j), ky = grid.ky(k), kz = grid.kz(i);
    if (!grid.kept(kx, ky, kz)) return advance.nothing(at, component);
    const T square = T(grid.square(kx, ky, kz));
    const T mean = square > 0 ? normal : T(0);  // a scalar's mean stays constant
    advance(at, component, Complex<T>{rhs[2 * at] * mean, rhs[2 * at + 1] * mean}, std::exp(-decay * square), T(0));
  }
};

template <class T>
struct ScalarLineSums {
  ModeGrid grid;
  Three<T> u;
  int component;
  double* sums;
  SLIP_FN void operator()(int j, int k, int) const {
    double found[scalar_sums] = {0, 0, 0, 0, 0};
    const int kx = grid.kx(j), ky = grid.ky(k);
    for (int i = 0; i < grid.extent[0]; ++i) {
      const double square = grid.square(kx, ky, grid.kz(i));
      if (!(square > 0)) continue;
      const std::int64_t at = grid.at(i, j, k);
      const Complex<T> of = load(u, at, component);
      const double re = static_cast<double>(of.real), im = static_cast<double>(of.imaginary);
      found[0] += re * re + im * im;
      found[1] += square * (re * re + im * im);
      for (int c = 0; c < 3; ++c) {
        const Complex<T> v = load(u, at, c);
        found[2 + c] += static_cast<double>(v.real) * re + static_cast<double>(v.imaginary) * im;
      }
    }
    const int weight = grid.weight(kx);
    double* const to = sums + scalar_sums * grid.line(j, k);
    for (int n = 0; n < scalar_sums; ++n) to[n] = weight * found[n];
  }
};

/// Index of a mode in the arrays of a block; -1: the mode is in another block.
SLIP_FN std::int64_t place_of(const ModeGrid& grid, const int* wave) {
  const auto index = [&](int axis) { return wave[axis] - grid.first[axis] + (wave[axis] < 0 ? grid.cells[axis] : 0); };
  const int i = index(2), j = index(0), k = index(1);
  const bool here = i >= 0 && j >= 0 && k >= 0 && i < grid.extent[0] && j < grid.extent[1] && k < grid.extent[2];
  return here ? grid.at(i, j, k) : -1;
}

template <class T>
struct Accelerate {
  ModeGrid grid;
  Three<T> rhs;
  Accelerations of;
  double cells;
  SLIP_FN void operator()(int n, int, int) const {
    const std::int64_t at = place_of(grid, of.modes + 3 * n);
    if (at < 0) return;
    for (int c = 0; c < 3; ++c) {
      const double* const value = of.values + 6 * n + 2 * c;
      Complex<T> sum = load(rhs, at, c);
      sum.real += T(cells * value[0]);
      sum.imaginary += T(cells * value[1]);
      store(rhs, at, c, sum);
    }
  }
};

template <class T>
struct Work {
  ModeGrid grid;
  Three<T> u;
  Accelerations of;
  double* sums;
  SLIP_FN void operator()(int k, int, int) const {
    double sum = grid.before > 0 ? sums[k] : 0;
    for (int pass = 0; pass < 2; ++pass)  // adds modes k_x = 0 first: same rounding, however planes are cut
      for (int n = 0; n < of.count; ++n) {
        const int* const wave = of.modes + 3 * n;
        if (wave[1] != grid.ky(k) || (wave[0] == 0) != (pass == 0)) continue;
        const std::int64_t at = place_of(grid, wave);
        if (at < 0) continue;
        for (int c = 0; c < 3; ++c) {
          const Complex<T> value = load(u, at, c);
          const double* const pushed = of.values + 6 * n + 2 * c;
          sum += grid.weight(wave[0]) *
                 (static_cast<double>(value.real) * pushed[0] + static_cast<double>(value.imaginary) * pushed[1]);
        }
      }
    sums[k] = sum;
  }
};

double cells_of(const ModeGrid& grid) { return static_cast<double>(grid.cells[0]) * grid.cells[1] * grid.cells[2]; }

}  // namespace terms_kernels

template <class T>
void Terms<T>::turn(Stream& stream, const ModeGrid& grid, const Three<T>& from, const Three<T>& to, int components,
                    const std::array<double, 3>& angles, double factor) {
  launch(stream, grid.box(), Turn<T>{grid, from, to, components, {angles[0], angles[1], angles[2]}, factor});
}

template <class T>
void Terms<T>::slopes(Stream& stream, const ModeGrid& grid, const Three<T>& of, int component, const Three<T>& to) {
  launch(stream, grid.box(), Slopes<T>{grid, of, component, to});
}

template <class T>
void Terms<T>::along_z(Stream& stream, const ModeGrid& grid, const Three<T>& of, int component, T* two) {
  launch(stream, grid.box(), ScalarAlongZ<T>{grid, of, component, {two, 2 * grid.volume()}});
}

template <class T>
void Terms<T>::advection(Stream& stream, const Extent& cells, const Three<T>& u, const Three<T>& along,
                         const std::array<double, 3>& gradient) {
  launch(stream, {{0, 0, 0}, cells},
         Advection<T>{static_cast<int>(cells[0]),
                      static_cast<int>(cells[1]),
                      u,
                      along,
                      {T(gradient[0]), T(gradient[1]), T(gradient[2])}});
}

template <class T>
void Terms<T>::stage(Stream& stream, const ModeGrid& grid, const StageArrays<T>& arrays, int component, const T* rhs,
                     const StageFactors& factors, double diffusivity, double time_step) {
  launch(
      stream, grid.box(),
      ScalarStage<T>{grid, {arrays, factors}, component, rhs, T(diffusivity * time_step / 2), T(1 / cells_of(grid))});
}

template <class T>
void Terms<T>::line_sums(Stream& stream, const ModeGrid& grid, const Three<T>& u, int component, double* sums) {
  launch(stream, {{0, 0, 0}, {grid.extent[1], grid.extent[2], 1}}, ScalarLineSums<T>{grid, u, component, sums});
}

template <class T>
void Terms<T>::accelerate(Stream& stream, const ModeGrid& grid, const Three<T>& rhs, const Accelerations& of) {
  launch(stream, {{0, 0, 0}, {of.count, 1, 1}}, Accelerate<T>{grid, rhs, of, cells_of(grid)});
}

template <class T>
void Terms<T>::work(Stream& stream, const ModeGrid& grid, const Three<T>& u, const Accelerations& of, double* sums) {
  launch(stream, {{0, 0, 0}, {grid.extent[2], 1, 1}}, Work<T>{grid, u, of, sums});
}

template struct Terms<float>;
template struct Terms<double>;

}  // namespace slipstream::dns

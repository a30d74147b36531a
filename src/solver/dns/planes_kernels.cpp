#include "solver/dns/planes.hpp"

#include <slipstream/device/complex.hpp>
#include <slipstream/launch.hpp>

namespace slipstream::dns {
inline namespace planes_kernels {

template <class T>
struct AlongZ {
  ModeGrid grid;
  Three<T> u;
  T* five;
  SLIP_FN void operator()(int i, int j, int k) const {
    const T wave = T(grid.kz(i) * grid.wave[2]);
    const std::int64_t at = 2 * grid.at(i, j, k), field = 2 * grid.volume();
    for (int c = 0; c < 3; ++c) {
      const T re = u.at[at + c * u.step], im = u.at[at + c * u.step + 1];
      five[at + c * field] = re;
      five[at + c * field + 1] = im;
      if (c == 2) break;
      five[at + (3 + c) * field] = -wave * im;
      five[at + (3 + c) * field + 1] = wave * re;
    }
  }
};

template <class T>
struct Columns {
  PlaneGrid grid;
  int component;
  std::int64_t field;
  const T* five;
  T* to;

  using Value = Complex<T>;
  SLIP_FN Value of(int n, std::int64_t at) const { return {five[n * field + 2 * at], five[n * field + 2 * at + 1]}; }
  SLIP_FN void operator()(int y, int x, int z) const {
    Value value{0, 0};
    if (const int c = grid.place_y(y); c >= 0) value = kept(x, y, grid.at(x, c, z));
    T* const target = to + 2 * ((static_cast<std::int64_t>(z) * grid.wide + x) * grid.cells[1] + y);
    target[0] = value.real;
    target[1] = value.imaginary;
  }
  SLIP_FN Value kept(int x, int y, std::int64_t at) const {
    if (component < 3) return of(component, at);
    const T kx = T((grid.first + x) * grid.wave[0]), ky = T(grid.ky(y) * grid.wave[1]);
    if (component > 5) {
      const int scalar = (component - 6) / 3, axis = (component - 6) % 3;
      if (axis == 2) return of(6 + 2 * scalar, at);
      const Value theta = of(5 + 2 * scalar, at);
      const T wave = axis == 0 ? kx : ky;
      return {-wave * theta.imaginary, wave * theta.real};
    }
    if (component == 3) {  // vorticity component dw/dy - dv/dz
      const Value w = of(2, at), vz = of(4, at);
      return {-ky * w.imaginary - vz.real, ky * w.real - vz.imaginary};
    }
    if (component == 4) {  // vorticity component du/dz - dw/dx
      const Value w = of(2, at), uz = of(3, at);
      return {uz.real + kx * w.imaginary, uz.imaginary - kx * w.real};
    }
    const Value u = of(0, at), v = of(1, at);  // vorticity component dv/dx - du/dy
    return {ky * u.imaginary - kx * v.imaginary, kx * v.real - ky * u.real};
  }
};

template <class T>
struct WholeRows {
  int rows, wide, modes_x;
  const T* from;
  T* to;
  SLIP_FN void operator()(int x, int y, int z) const {
    const std::int64_t source = (static_cast<std::int64_t>(z) * wide + x) * rows + y;
    T* const target = to + 2 * ((static_cast<std::int64_t>(z) * rows + y) * modes_x + x);
    const bool kept = x < wide;
    target[0] = kept ? from[2 * source] : T(0);
    target[1] = kept ? from[2 * source + 1] : T(0);
  }
};

template <class T>
struct Kept {
  PlaneGrid grid;
  const T* from;
  T* to;
  SLIP_FN void operator()(int x, int c, int z) const {
    const std::int64_t source = (static_cast<std::int64_t>(z) * grid.wide + x) * grid.cells[1] + grid.index_y(c);
    T* const target = to + 2 * grid.at(x, c, z);
    target[0] = from[2 * source];
    target[1] = from[2 * source + 1];
  }
};

}  // namespace planes_kernels

template <class T>
void queue_along_z(Stream& stream, const ModeGrid& grid, const Three<T>& u, T* five) {
  launch(stream, grid.box(), AlongZ<T>{grid, u, five});
}

template <class T>
void queue_columns(Stream& stream, const PlaneGrid& grid, int component, const T* five, T* to) {
  launch(stream, {{0, 0, 0}, {grid.cells[1], grid.wide, grid.planes}},
         Columns<T>{grid, component, 2 * grid.volume(), five, to});
}

template <class T>
void queue_rows(Stream& stream, const Extent& cells, int wide, const T* from, T* to) {
  const std::int64_t modes_x = cells[0] / 2 + 1;
  launch(stream, {{0, 0, 0}, {modes_x, cells[1], cells[2]}},
         WholeRows<T>{static_cast<int>(cells[1]), wide, static_cast<int>(modes_x), from, to});
}

template <class T>
void queue_kept(Stream& stream, const PlaneGrid& grid, const T* from, T* to) {
  launch(stream, {{0, 0, 0}, {grid.wide, grid.high(), grid.planes}}, Kept<T>{grid, from, to});
}

template void queue_along_z<float>(Stream&, const ModeGrid&, const Three<float>&, float*);
template void queue_columns<float>(Stream&, const PlaneGrid&, int, const float*, float*);
template void queue_rows<float>(Stream&, const Extent&, int, const float*, float*);
template void queue_kept<float>(Stream&, const PlaneGrid&, const float*, float*);
template void queue_along_z<double>(Stream&, const ModeGrid&, const Three<double>&, double*);
template void queue_columns<double>(Stream&, const PlaneGrid&, int, const double*, double*);
template void queue_rows<double>(Stream&, const Extent&, int, const double*, double*);
template void queue_kept<double>(Stream&, const PlaneGrid&, const double*, double*);

}  // namespace slipstream::dns

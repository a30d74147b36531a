// Conversion between u and the vectors of the linear system.
#include <slipstream/launch.hpp>

#include "solver/stencil/kernels.hpp"

namespace slipstream::stencil {
inline namespace implicit_kernels {

template <class From, class To>
struct Convert {
  const From* from;
  To* to;
  Strides there, here;
  SLIP_FN void operator()(int i, int j, int k) const {
    to[here.at(i, j, k)] = static_cast<To>(from[there.at(i, j, k)]);
  }
};

struct Ones {
  double* to;
  Strides strides;
  SLIP_FN void operator()(int i, int j, int k) const { to[strides.at(i, j, k)] = 1; }
};

struct Reflect {
  const double *u, *b;
  double* to;
  Strides strides;
  SLIP_FN void operator()(int i, int j, int k) const {
    const auto p = strides.at(i, j, k);
    to[p] = 2 * u[p] - b[p];
  }
};

template <class From, class To>
void convert(Stream& stream, const void* from, const Strides& there, void* to, const Strides& here, const Box& box) {
  launch(stream, box, Convert<From, To>{static_cast<const From*>(from), static_cast<To*>(to), there, here});
}

}  // namespace implicit_kernels

void convert(Stream& stream, DType from_type, const void* from, const Strides& there, DType to_type, void* to,
             const Strides& here, const Box& box) {
  if (from_type == DType::f32) return convert<float, double>(stream, from, there, to, here, box);
  if (to_type == DType::f32) return convert<double, float>(stream, from, there, to, here, box);
  convert<double, double>(stream, from, there, to, here, box);
}

void reflect(Stream& stream, const double* u, const double* b, double* to, const Strides& strides, const Box& box) {
  launch(stream, box, Reflect{u, b, to, strides});
}

void set_ones(Stream& stream, double* to, const Strides& strides, const Box& box) {
  launch(stream, box, Ones{to, strides});
}

}  // namespace slipstream::stencil

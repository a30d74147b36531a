#pragma once
// Device code that computes the factor by which each mode is multiplied, as FftFactor describes it.
#include <cmath>

#include <slipstream/fft/pointwise.hpp>

namespace slipstream::fft {

template <class T>
struct Factor {
  const T* real;
  const Pair<T>* complex;
  Pair<T> constant;  ///< constant factor, times i to the power of the total order of derivatives
  T unit[3];         ///< wavenumber |k| of mode 1 along each axis
  std::int32_t order[3];
  std::int32_t last[3];  ///< mode n / 2 if the derivative along the axis is odd: its factor is zero
  std::int32_t laplacian;
  T decay;  ///< coefficient of k^2 in exp(-decay |k|^2)
  T most;   ///< largest |k|^2 of a mode that is kept

  SLIP_FN static T power(T base, int exponent) {
    T product = T(1);
    for (int n = 0; n < exponent; ++n) product *= base;
    return product;
  }
  SLIP_FN Pair<T> operator()(const Mode& mode, const Pair<T>& value) const {
    const T x = unit[0] * T(mode.x), y = unit[1] * T(mode.y), z = unit[2] * T(mode.z);
    const T square = x * x + y * y + z * z;
    if (mode.x == last[0] || mode.y == last[1] || mode.z == last[2] || square > most) return {T(0), T(0)};
    T number = power(x, order[0]) * power(y, order[1]) * power(z, order[2]);
    if (laplacian > 0) number *= power(-square, laplacian);
    if (laplacian < 0) number = square > T(0) ? number / power(-square, -laplacian) : T(0);
    if (decay != T(0)) number *= std::exp(-decay * square);
    if (real) number *= real[mode.at];
    const Pair<T> product = complex ? constant * complex[mode.at] : constant;
    return Pair<T>{product.re * number, product.im * number} * value;
  }
};

}  // namespace slipstream::fft

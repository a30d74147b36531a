#pragma once
// Update of one velocity component or scalar of a mode by a stage of a Runge-Kutta step.
#include "solver/dns/complex.hpp"

namespace slipstream::dns {

template <class T>
struct Advance {
  StageArrays<T> arrays;
  StageFactors factors;

  SLIP_FN static T power(T e, int exponent) { return exponent == 0 ? T(1) : exponent == 1 ? e : e * e; }

  /// Advances component c of a mode. `n`: right-hand side; `e`: decay over half a step; `push`: factor of the forcing.
  SLIP_FN void operator()(std::int64_t at, int c, Complex<T> n, T e, T push) const {
    const Complex<T> u = factors.last ? Complex<T>{0, 0} : load(arrays.u, at, c);
    if (push != T(0) && factors.pushes) {
      const Complex<T> now = factors.first ? u : load(arrays.now, at, c);
      n.real += push * now.real;
      n.imaginary += push * now.imaginary;
    }
    const T e2 = e * e, to_sum = T(factors.sum_n) * power(e, factors.sum_e);
    Complex<T> sum = factors.first ? Complex<T>{e2 * u.real, e2 * u.imaginary} : load(arrays.sum, at, c);
    sum.real += to_sum * n.real;
    sum.imaginary += to_sum * n.imaginary;
    if (factors.last) return store(arrays.u, at, c, sum);
    const T of_u = power(e, factors.next_e), of_n = T(factors.next_n) * power(e, factors.next_n_e);
    const Complex<T> next{of_u * u.real + of_n * n.real, of_u * u.imaginary + of_n * n.imaginary};
    if (push != T(0) && factors.ahead != 0) {
      const T ahead = T(factors.ahead) * push;
      sum.real += ahead * next.real;
      sum.imaginary += ahead * next.imaginary;
    }
    store(arrays.sum, at, c, sum);
    store(arrays.next, at, c, next);
    if (arrays.now.at) store(arrays.now, at, c, next);
  }

  /// Stores zeros for a truncated mode, because transforms read them.
  SLIP_FN void nothing(std::int64_t at, int c) const {
    store(factors.last ? arrays.u : arrays.next, at, c, Complex<T>{0, 0});
  }
};

}  // namespace slipstream::dns

#pragma once
#include <cstdint>
#include <type_traits>

#include <slipstream/device/complex.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/transfer.hpp>

namespace slipstream {

/// Sums and products; complex numbers have no order.
template <class T>
SLIP_FN Complex<T> combine(Op op, const Complex<T>& a, const Complex<T>& b) {
  if (op == Op::add) return {a.real + b.real, a.imaginary + b.imaginary};
  if (op == Op::multiply)
    return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
  return b;
}

/// What all that combines two values does, wherever it runs. A NaN wins in every operation, so that neither the order
/// of operands nor who combines decides whether one is seen. Sums and products of integers wrap round.
template <class T>
SLIP_FN T combine(Op op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    if (op == Op::add) return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    // In 64 bits: two short factors would be multiplied as signed numbers.
    if (op == Op::multiply) return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    if (op == Op::add) return a + b;
    if (op == Op::multiply) return a * b;
    if (op != Op::copy && a != a) return a;
    if (op != Op::copy && b != b) return b;
  }
  if (op == Op::min) return b < a ? b : a;
  if (op == Op::max) return a < b ? b : a;
  return b;
}

}  // namespace slipstream

#pragma once
#include <cstdint>
#include <type_traits>

#include <slipstream/device/complex.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/transfer.hpp>

namespace slipstream {

/// Combines two complex numbers, which have no order: sums and products only.
template <class T>
SLIP_FN Complex<T> combine(Op op, const Complex<T>& a, const Complex<T>& b) {
  if (op == Op::add) return {a.real + b.real, a.imaginary + b.imaginary};
  if (op == Op::multiply)
    return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
  return b;
}

/// The one definition of how two values are combined, on host and device. A NaN operand gives NaN in every operation,
/// so the result does not depend on the order of operands. Sums and products of integers wrap around.
template <class T>
SLIP_FN T combine(Op op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    if (op == Op::add) return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    // Multiplies integers in 64 bits: promotion to int would make the product of two short factors overflow.
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

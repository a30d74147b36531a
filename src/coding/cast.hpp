#pragma once
// Casts of numbers to a narrower format in flight, and back, with the same bits on the host and on GPUs.
//
// Every NaN travels as one fixed pattern. Another NaN pattern marks a finite value that has overflowed. So the receiver
// sees overflows by any route, without an extra message.
#include <bit>
#include <cstdint>
#include <type_traits>

#include <slipstream/device/complex.hpp>
#include <slipstream/device/function.hpp>
#include <slipstream/device/half.hpp>
#include "coding/wire.hpp"

namespace slipstream {

constexpr std::uint32_t infinite_f32 = 0x7f800000u, nan_f32 = 0x7fc00000u;

/// Cast of f64 to f32 and back.
struct CastToF32 {
  using Value = double;
  using Code = std::uint32_t;
  static constexpr Code overflowed = 0x7fc5a5a5u, sign = 0x80000000u;

  static SLIP_FN Code encode(double value, bool& overflow) {
    // The common case comes first: nearly all values need one conversion and one comparison.
    const auto code = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    if ((code & ~sign) < infinite_f32) return code;
    if (value != value) return nan_f32;
    if (value - value != 0) return code;
    overflow = true;
    return overflowed | (code & sign);
  }
  static SLIP_FN double decode(Code code, bool& overflow) {
    constexpr std::uint64_t infinite = 0x7ff0000000000000u, nan = 0x7ff8000000000000u;
    const std::uint32_t magnitude = code & ~sign;
    if (magnitude <= infinite_f32) return static_cast<double>(std::bit_cast<float>(code));
    if (magnitude != overflowed) return std::bit_cast<double>(nan);
    overflow = true;
    return std::bit_cast<double>(infinite | std::uint64_t{code & sign} << 32);
  }
};

/// Cast of f32 to 16 bits and back. `Format` rounds and widens numbers other than NaN; its `infinite` codes infinity.
template <class Format>
struct CastTo16 {
  using Value = float;
  using Code = std::uint16_t;
  static constexpr Code sign = 0x8000u;

  static SLIP_FN Code encode(float value, bool& overflow) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > infinite_f32) return Format::nan;
    const std::uint32_t code = Format::rounded(value);
    if ((code & 0x7fffu) != Format::infinite || magnitude == infinite_f32) return static_cast<Code>(code);
    overflow = true;
    return static_cast<Code>(Format::overflowed | (code & sign));
  }
  static SLIP_FN float decode(Code code, bool& overflow) {
    const std::uint32_t magnitude = code & 0x7fffu;
    if (magnitude <= Format::infinite) return Format::widened(code);
    if (magnitude != Format::overflowed) return std::bit_cast<float>(nan_f32);
    overflow = true;
    return std::bit_cast<float>(infinite_f32 | static_cast<std::uint32_t>(code & sign) << 16);
  }
};

struct F16 {
  static constexpr std::uint16_t infinite = 0x7c00u, nan = 0x7e00u, overflowed = 0x7f5au;
  static SLIP_FN std::uint32_t rounded(float value) { return half_of(value).bits; }
  static SLIP_FN float widened(std::uint16_t code) { return float_of(Half{code}); }
};

struct Bf16 {
  static constexpr std::uint16_t infinite = 0x7f80u, nan = 0x7fc0u, overflowed = 0x7fdau;
  /// Rounds to nearest, ties to even: adds half a unit in the last place, less one bit where the last place is even.
  static SLIP_FN std::uint32_t rounded(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  }
  static SLIP_FN float widened(std::uint16_t code) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
  }
};

using CastToF16 = CastTo16<F16>;
using CastToBf16 = CastTo16<Bf16>;

/// Cast of a complex number: both parts are cast to f32.
struct CastPairToF32 {
  using Value = Complex<double>;
  using Code = Complex<std::uint32_t>;
  static SLIP_FN Code encode(const Value& value, bool& overflow) {
    return {CastToF32::encode(value.real, overflow), CastToF32::encode(value.imaginary, overflow)};
  }
  static SLIP_FN Value decode(const Code& code, bool& overflow) {
    return {CastToF32::decode(code.real, overflow), CastToF32::decode(code.imaginary, overflow)};
  }
};

/// Cast of several adjacent values that are loaded as one word of 16 bytes.
template <class Cast>
struct Together {
  static constexpr int count = 16 / static_cast<int>(sizeof(typename Cast::Value));
  struct alignas(count * sizeof(typename Cast::Value)) Value {
    typename Cast::Value of[count];
  };
  struct alignas(count * sizeof(typename Cast::Code)) Code {
    typename Cast::Code of[count];
  };
  static SLIP_FN Code encode(const Value& value, bool& overflow) {
    Code code;
    for (int n = 0; n < count; ++n) code.of[n] = Cast::encode(value.of[n], overflow);
    return code;
  }
  static SLIP_FN Value decode(const Code& code, bool& overflow) {
    Value value;
    for (int n = 0; n < count; ++n) value.of[n] = Cast::decode(code.of[n], overflow);
    return value;
  }
};

// Conversions of a value between source and target. `overflow` is true afterwards if some value was too large.

template <class Cast>
struct Encode {
  using From = typename Cast::Value;
  using To = typename Cast::Code;
  mutable bool overflow = false;
  SLIP_FN To operator()(const From& value) const { return Cast::encode(value, overflow); }
};
template <class Cast>
struct Decode {
  using From = typename Cast::Code;
  using To = typename Cast::Value;
  mutable bool overflow = false;
  SLIP_FN To operator()(const From& code) const { return Cast::decode(code, overflow); }
};
/// Encodes and decodes a value in one step, so that values that stay on their device are rounded, too.
template <class Cast>
struct RoundTrip {
  using From = typename Cast::Value;
  using To = typename Cast::Value;
  mutable bool overflow = false;
  SLIP_FN To operator()(const From& value) const { return Cast::decode(Cast::encode(value, overflow), overflow); }
};

/// Calls f with the cast for a type and its wire format. `Own`: a user-defined cast or void. Kernels with a
/// user-defined cast contain no other.
template <class Own, class F>
SLIP_FN void with_cast([[maybe_unused]] DType type, [[maybe_unused]] Wire wire, F f) {
  if constexpr (!std::is_void_v<Own>) {
    f(Own{});
  } else {
    if (wire == Wire::f16) return f(CastToF16{});
    if (wire == Wire::bf16) return f(CastToBf16{});
    if (type == DType::c128) return f(CastPairToF32{});
    f(CastToF32{});
  }
}

}  // namespace slipstream

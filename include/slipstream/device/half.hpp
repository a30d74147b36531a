#pragma once
#include <bit>
#include <cstdint>

#include <slipstream/device/function.hpp>

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace slipstream {

/// IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of significand. A storage format only.
struct Half {
  std::uint16_t bits = 0;
};

// The host computes all possible results and selects one, so that loops over values become vector instructions on any
// processor. GPUs use their own instructions. Both agree in all bits.

/// Converts a half to a float, exactly.
SLIP_FN float float_of(Half half) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(half.bits));
#else
  constexpr std::uint32_t exponent = 0x1fu << 23, rebias = 112u << 23, least_normal = 113u << 23;
  const std::uint32_t sign = (half.bits & 0x8000u) << 16, magnitude = (half.bits & 0x7fffu) << 13;
  // A subnormal number has no hidden bit, so one is added before the conversion and subtracted after it.
  const float small = std::bit_cast<float>(magnitude + least_normal) - std::bit_cast<float>(least_normal);
  const std::uint32_t usual = magnitude + rebias;
  const std::uint32_t finite = magnitude < (1u << 23) ? std::bit_cast<std::uint32_t>(small) : usual;
  return std::bit_cast<float>(sign | (magnitude >= exponent ? usual + rebias : finite));
#endif
}

/// The parts of a float, for conversions on the host.
struct FloatParts {
  static constexpr std::uint32_t infinity = 0xffu << 23, rebias = 112u << 23, least_normal = 113u << 23;
  static constexpr std::uint32_t too_large = (127u + 16u) << 23;  // 65536
  // The last bit of 1/2 is worth 2^-24. Adding a small number to 1/2 therefore rounds it to a multiple of 2^-24.
  static constexpr float half = 0.5f;
  std::uint32_t bits, magnitude;
  float sum;

  explicit FloatParts(float value)
      : bits(std::bit_cast<std::uint32_t>(value)),
        magnitude(bits & 0x7fffffffu),
        sum(std::bit_cast<float>(magnitude) + half) {}
  std::uint32_t small() const { return std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(half); }
  /// Assembles the half with the sign of the float. Its other bits are `below` where the result is subnormal, `beyond`
  /// for magnitudes of 65536 or more, and else `usual`.
  Half half_of(std::uint32_t below, std::uint32_t usual, std::uint32_t beyond) const {
    const std::uint32_t finite = magnitude < least_normal ? below : usual;
    const std::uint32_t bounded = magnitude < too_large ? finite : magnitude < infinity ? beyond : 0x7c00u;
    const std::uint32_t any = magnitude > infinity ? 0x7fffu : bits >> 31 << 15 | bounded;
    return {static_cast<std::uint16_t>(any)};
  }
};

/// Rounds to nearest, ties to even; infinite from 65520 on. Every NaN becomes 0x7fff.
SLIP_FN Half half_of(float value) {
#if defined(__CUDA_ARCH__)
  return {__half_as_ushort(__float2half_rn(value))};
#else
  const FloatParts parts(value);
  const std::uint32_t rebiased = parts.magnitude - FloatParts::rebias;
  return parts.half_of(parts.small(), (rebiased + 0xfffu + (parts.magnitude >> 13 & 1u)) >> 13, 0x7c00u);
#endif
}

/// Rounds towards zero: finite values stay finite, at most 65504. Every NaN becomes 0x7fff.
SLIP_FN Half half_towards_zero(float value) {
#if defined(__CUDA_ARCH__)
  return {__half_as_ushort(__float2half_rz(value))};
#else
  const FloatParts parts(value);
  // If adding 1/2 has rounded the magnitude up, the result towards zero is one unit less.
  const bool up = parts.sum - FloatParts::half > std::bit_cast<float>(parts.magnitude);
  return parts.half_of(parts.small() - (up ? 1u : 0u), (parts.magnitude - FloatParts::rebias) >> 13, 0x7bffu);
#endif
}

}  // namespace slipstream

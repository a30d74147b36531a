#pragma once
#include <bit>
#include <cstdint>

#include <slipstream/device/function.hpp>

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace slipstream {

/// A number of 16 bits as IEEE 754 lays it out: 1 of sign, 5 of exponent, 10 of significand. Only a way to store.
struct Half {
  std::uint16_t bits = 0;
};

// On the host by selections between results that are all computed, so that loops over values become vector instructions
// on any processor; on GPUs by the instructions for it. Both agree in all bits.

/// Exact.
SLIP_FN float float_of(Half half) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(half.bits));
#else
  constexpr std::uint32_t exponent = 0x1fu << 23, rebias = 112u << 23, least_normal = 113u << 23;
  const std::uint32_t sign = (half.bits & 0x8000u) << 16, magnitude = (half.bits & 0x7fffu) << 13;
  // Below the least normal number the significand has no hidden bit: one is put there and subtracted.
  const float small = std::bit_cast<float>(magnitude + least_normal) - std::bit_cast<float>(least_normal);
  const std::uint32_t usual = magnitude + rebias;
  const std::uint32_t finite = magnitude < (1u << 23) ? std::bit_cast<std::uint32_t>(small) : usual;
  return std::bit_cast<float>(sign | (magnitude >= exponent ? usual + rebias : finite));
#endif
}

/// The nearest, of two the even one; infinite from 65520 on. Every NaN becomes 0x7fff.
SLIP_FN Half half_of(float value) {
#if defined(__CUDA_ARCH__)
  return {__half_as_ushort(__float2half_rn(value))};
#else
  constexpr std::uint32_t infinity = 0xffu << 23, rebias = 112u << 23, least_normal = 113u << 23;
  constexpr std::uint32_t too_large = (127u + 16u) << 23;  // 65536
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Added to 1/2, whose last bit is worth 2^-24, a small number is rounded to that by the addition.
  constexpr float half = 0.5f;
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + half) - std::bit_cast<std::uint32_t>(half);
  const std::uint32_t usual = (magnitude - rebias + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  const std::uint32_t finite = magnitude < least_normal ? small : usual;
  const std::uint32_t unbounded = magnitude >= too_large ? 0x7c00u : finite;
  const std::uint32_t any = magnitude > infinity ? 0x7fffu : bits >> 31 << 15 | unbounded;
  return {static_cast<std::uint16_t>(any)};
#endif
}

/// The nearest on the side of zero; what is finite stays so, at most 65504. Every NaN becomes 0x7fff.
SLIP_FN Half half_towards_zero(float value) {
#if defined(__CUDA_ARCH__)
  return {__half_as_ushort(__float2half_rz(value))};
#else
  constexpr std::uint32_t infinity = 0xffu << 23, rebias = 112u << 23, least_normal = 113u << 23;
  constexpr std::uint32_t too_large = (127u + 16u) << 23;  // 65536
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Rounded by an addition, as above, and one less where that went up.
  constexpr float half = 0.5f;
  const float sum = std::bit_cast<float>(magnitude) + half;
  const std::uint32_t nearest = std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(half);
  const std::uint32_t small = nearest - (sum - half > std::bit_cast<float>(magnitude) ? 1u : 0u);
  const std::uint32_t finite = magnitude < least_normal ? small : (magnitude - rebias) >> 13;
  const std::uint32_t bounded = magnitude < too_large ? finite : magnitude < infinity ? 0x7bffu : 0x7c00u;
  const std::uint32_t any = magnitude > infinity ? 0x7fffu : bits >> 31 << 15 | bounded;
  return {static_cast<std::uint16_t>(any)};
#endif
}

}  // namespace slipstream

#pragma once
#include <bit>
#include <cstdint>

#include <slipstream/device/function.hpp>

namespace slipstream {

/// Number of set bits of a word.
SLIP_FN int bits_set(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __popc(word);
#else
  return std::popcount(word);
#endif
}

/// Number of zero bits below the lowest set bit. `bits` must not be 0.
SLIP_FN int trailing_zeros(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(bits)) - 1;
#else
  return std::countr_zero(bits);
#endif
}
/// Number of bits up to the highest set bit.
SLIP_FN int bit_length(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return 64 - __clzll(static_cast<long long>(bits));
#else
  return static_cast<int>(std::bit_width(bits));
#endif
}
/// Number of set bits of a double word.
SLIP_FN int bits_set(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return __popcll(bits);
#else
  return std::popcount(bits);
#endif
}

/// Compiler barrier: forces the word into a register here, so that its load is not moved behind the next branch.
SLIP_FN void have_by_now([[maybe_unused]] std::uint32_t& word) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(word));
#endif
}

/// Compares two words byte by byte: a byte of the result is 1 where they differ, else 0.
SLIP_FN std::uint32_t bytes_that_differ(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __vsetne4(a, b);
#else
  // Adding 0x7f sets a byte's top bit if any of its low seven bits is set. So the top bit marks a byte that differs.
  constexpr std::uint32_t low = 0x7f7f7f7fu;
  const std::uint32_t apart = a ^ b;
  return ((((apart & low) + low) | apart) >> 7) & 0x01010101u;
#endif
}

}  // namespace slipstream

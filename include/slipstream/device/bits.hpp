#pragma once
#include <bit>
#include <cstdint>

#include <slipstream/device/function.hpp>

namespace slipstream {

/// How many bits of a word are set.
SLIP_FN int bits_set(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __popc(word);
#else
  return std::popcount(word);
#endif
}

/// Makes the compiler have a word by here: what loads it is not put off until behind a decision that comes next.
SLIP_FN void have_by_now([[maybe_unused]] std::uint32_t& word) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(word));
#endif
}

/// Which of the four bytes of two words differ: 1 in each that does, 0 in the others.
SLIP_FN std::uint32_t bytes_that_differ(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __vsetne4(a, b);
#else
  // Of each byte: the lower seven bits carry into the eighth where any is set.
  constexpr std::uint32_t low = 0x7f7f7f7fu;
  const std::uint32_t apart = a ^ b;
  return ((((apart & low) + low) | apart) >> 7) & 0x01010101u;
#endif
}

}  // namespace slipstream

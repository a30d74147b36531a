#pragma once
#include <cstring>
#include <type_traits>

#include <slipstream/device/function.hpp>

namespace slipstream {

/// Reads a value that no kernel writes and that nobody reads again soon: a GPU's caches keep others before it.
template <class T>
SLIP_FN T load_once(const T* from) {
#if defined(__CUDA_ARCH__)
  return __ldcs(from);
#else
  return *from;
#endif
}

/// Reads 4, 8 or 16 bytes that nobody writes while the kernel runs: a GPU may read them before stores that come first.
template <class T>
SLIP_FN T load_constant(const T* from) {
#if defined(__CUDA_ARCH__)
  using Word = std::conditional_t<sizeof(T) == 16, float4, std::conditional_t<sizeof(T) == 8, float2, float>>;
  static_assert(sizeof(T) == sizeof(Word));
  const Word word = __ldg(reinterpret_cast<const Word*>(from));
  T value;
  memcpy(&value, &word, sizeof(T));
  return value;
#else
  return *from;
#endif
}

/// Has the line of memory that holds `at` brought into a GPU's second cache, for a load some time from now; on the host
/// nothing happens. Any address of the device will do.
SLIP_FN void fetch_ahead([[maybe_unused]] const void* at) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

}  // namespace slipstream

#pragma once
#include <cstring>
#include <type_traits>

#include <slipstream/device/function.hpp>

namespace slipstream {

/// Streaming load of a value that is not read again soon: a GPU's caches evict it first. No kernel may write it
/// meanwhile.
template <class T>
SLIP_FN T load_once(const T* from) {
#if defined(__CUDA_ARCH__)
  return __ldcs(from);
#else
  return *from;
#endif
}

/// Reads 4, 8 or 16 bytes that nobody writes while the kernel runs. A GPU may move the load before earlier stores.
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

/// Prefetches the cache line that holds `at` into a GPU's L2 cache; does nothing on the host. Any address of the device
/// is allowed.
SLIP_FN void fetch_ahead([[maybe_unused]] const void* at) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

}  // namespace slipstream

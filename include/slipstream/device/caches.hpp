#pragma once
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

/// Has the line of memory that holds `at` brought into a GPU's second cache, for a load some time from now; on the host
/// nothing happens. Any address of the device will do.
SLIP_FN void fetch_ahead([[maybe_unused]] const void* at) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

}  // namespace slipstream

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

}  // namespace slipstream

#pragma once
// Thirty-two threads that go on together, a warp of a GPU; on the host one thread plays all of them, one after the
// other.
#include <bit>
#include <cstdint>

#include <slipstream/device/function.hpp>

namespace slipstream {

/// A value that each lane keeps from one step to the next.
template <bool sequential, class T>
struct OfLane {
  T all[sequential ? 32 : 1];
  SLIP_FN T& operator[](int lane) { return all[sequential ? lane : 0]; }
};

template <bool sequential>
struct Warp {
  static constexpr int count = 32;
  int own = 0;  ///< this thread's lane, on a GPU

  /// Calls f(lane) on every lane, all of which call this. Each sees afterwards what the others stored.
  template <class F>
  SLIP_FN void each(F f) const {
    if constexpr (sequential) {
      for (int lane = 0; lane < count; ++lane) f(lane);
    } else {
      f(own);
#if defined(__CUDA_ARCH__)
      __syncwarp();
#endif
    }
  }
};

/// Zero bits below the lowest one; of a number that is not 0.
SLIP_FN int trailing_zeros(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(bits)) - 1;
#else
  return std::countr_zero(bits);
#endif
}

}  // namespace slipstream

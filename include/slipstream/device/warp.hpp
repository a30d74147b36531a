#pragma once
// A warp: 32 threads of a GPU that run in lockstep. On the host one thread runs all lanes in sequence.
#include <cstdint>

#include <slipstream/device/function.hpp>

namespace slipstream {

/// A variable with one value for each lane of a warp. Values are kept from one call of Warp::each() to the next.
template <bool sequential, class T>
struct OfLane {
  T all[sequential ? 32 : 1];
  SLIP_FN T& operator[](int lane) { return all[sequential ? lane : 0]; }
  SLIP_FN const T& operator[](int lane) const { return all[sequential ? lane : 0]; }
};

template <bool sequential>
struct Warp {
  static constexpr int count = 32;
  int own = 0;       ///< number of this thread's lane in its warp, on a GPU
  int busy = count;  ///< number of a warp's leading lanes that the host runs; a GPU runs all 32

  /// Calls f(lane) on every lane of the warp; all must call it. Afterwards each lane sees what the others stored.
  template <class F>
  SLIP_FN void each(F f) const {
    alone(f);
#if defined(__CUDA_ARCH__)
    if constexpr (!sequential) __syncwarp();
#endif
  }
  /// Calls f(lane) on every lane of the warp without synchronizing them, where no lane reads what another stores.
  template <class F>
  SLIP_FN void alone(F f) const {
    if constexpr (sequential) {
      for (int lane = 0; lane < busy; ++lane) f(lane);
    } else {
      f(own);
    }
  }
  /// Butterfly reduction: each lane gets all values of its group of `width` lanes (a power of two) combined by op.
  template <int width, class T, class Op>
  SLIP_FN void reduce(OfLane<sequential, T>& values, Op op) const {
    if constexpr (sequential) {
      for (int first = 0; first < busy; first += width) {
        T all = values[first];
        for (int n = 1; n < width; ++n) all = op(all, values[first + n]);
        for (int n = 0; n < width; ++n) values[first + n] = all;
      }
    } else {
#if defined(__CUDA_ARCH__)
      for (int far = 1; far < width; far *= 2) values[own] = op(values[own], __shfl_xor_sync(~0u, values[own], far));
#endif
    }
  }
  /// Butterfly shuffle: the value of the lane whose number differs by the mask `bit`. Valid on a GPU only.
  SLIP_FN static std::uint32_t across(std::uint32_t value, [[maybe_unused]] int bit) {
#if defined(__CUDA_ARCH__)
    return __shfl_xor_sync(~0u, value, bit);
#else
    return value;
#endif
  }
  /// Exclusive scan over a warp's lanes from above: each lane gets op over the values of higher lanes in its group of
  /// `width` lanes, or 0. `all` becomes op over the whole group.
  template <int width, class Op>
  SLIP_FN void from_above(OfLane<sequential, int>& values, OfLane<sequential, int>& all, Op op) const {
    if constexpr (sequential) {
      for (int first = 0; first < busy; first += width) {
        int above = 0;
        for (int n = width - 1; n >= 0; --n) {
          const int value = values[first + n];
          values[first + n] = above;
          above = op(above, value);
        }
        for (int n = 0; n < width; ++n) all[first + n] = above;
      }
    } else {
#if defined(__CUDA_ARCH__)
      const int place = own & (width - 1);
      int value = values[own];
      for (int far = 1; far < width; far *= 2) {
        const int higher = __shfl_down_sync(~0u, value, far, width);
        value = place + far < width ? op(value, higher) : value;
      }
      all[own] = __shfl_sync(~0u, value, 0, width);
      const int higher = __shfl_down_sync(~0u, value, 1, width);
      values[own] = place + 1 < width ? higher : 0;
#endif
    }
  }
  /// True where f(lane) holds on at least one lane of the warp.
  template <class F>
  SLIP_FN bool any(F f) const {
    if constexpr (sequential) {
      for (int lane = 0; lane < busy; ++lane)
        if (f(lane)) return true;
      return false;
    } else {
#if defined(__CUDA_ARCH__)
      return __any_sync(~0u, f(own)) != 0;
#else
      return f(own);
#endif
    }
  }
};

/// Sets bits of a 32-bit word that several lanes may change at the same time (an atomic OR on a GPU).
SLIP_FN void set_bits(std::uint32_t* word, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  atomicOr(word, bits);
#else
  *word |= bits;
#endif
}

/// Tells the compiler that a pointer is to shared memory, for which it has faster loads.
SLIP_FN void is_team_memory([[maybe_unused]] const void* memory) {
#if defined(__CUDA_ARCH__)
  __builtin_assume(__isShared(memory));
#endif
}

}  // namespace slipstream

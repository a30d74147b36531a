#pragma once
#include <chrono>

namespace slipstream {

/// Seconds since an unspecified moment, by a monotonic clock.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace slipstream

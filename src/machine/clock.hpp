#pragma once
#include <chrono>

namespace slipstream {

/// From some moment of the past, by a clock that nobody sets.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace slipstream

#pragma once
// Waits of destructors.
#include <slipstream/stream.hpp>

namespace slipstream {

/// Waits without throwing: a destructor has nobody to tell, and the same error was thrown where the stream was used.
inline void wait_quietly(Device device) noexcept {
  try {
    synchronize(device);
  } catch (...) {
  }
}
inline void wait_quietly(Stream& stream) noexcept {
  try {
    stream.synchronize();
  } catch (...) {
  }
}

}  // namespace slipstream

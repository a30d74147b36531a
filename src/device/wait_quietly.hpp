#pragma once
// Waits for a device, for use in destructors.
#include <slipstream/stream.hpp>

namespace slipstream {

/// Waits without throwing: a destructor cannot report the error, which the stream throws at its next use anyway.
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

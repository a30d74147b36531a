#pragma once
#include <algorithm>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// The values in memory of the device. Waits for the copy: for set-up, never in a step.
template <class T>
Buffer<T> upload(Device device, const std::vector<T>& values) {
  Buffer<T> there(device, values.size()), host(device, values.size(), Memory::pinned);
  std::copy(values.begin(), values.end(), host.data());
  Stream stream(device);
  copy(stream, there.data(), host.data(), host.bytes());
  stream.synchronize();
  return there;
}

}  // namespace slipstream

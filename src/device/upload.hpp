#pragma once
#include <algorithm>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// The values in memory of the stream's device. Waits for the copy: for set-up, never in a step.
template <class T>
Buffer<T> upload(Stream& stream, const std::vector<T>& values) {
  const Device device = stream.device();
  Buffer<T> there(device, values.size());
  if (values.empty()) return there;
  Buffer<T> host(device, values.size(), Memory::pinned);
  std::copy(values.begin(), values.end(), host.data());
  copy(stream, there.data(), host.data(), host.bytes());
  stream.synchronize();
  return there;
}

template <class T>
Buffer<T> upload(Device device, const std::vector<T>& values) {
  if (values.empty()) return Buffer<T>(device, 0);
  Stream stream(device);
  return upload(stream, values);
}

}  // namespace slipstream

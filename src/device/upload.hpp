#pragma once
#include <algorithm>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// The values in memory of the stream's device, by way of some pinned memory of the host. Waits for the copy: for
/// set-up, never in a step.
template <class T>
Buffer<T> upload(Stream& stream, const std::vector<T>& values) {
  const Device device = stream.device();
  Buffer<T> there(device, values.size());
  if (values.empty()) return there;
  constexpr std::size_t most = (std::size_t{16} << 20) / sizeof(T);
  Buffer<T> host(device, std::min(values.size(), most), Memory::pinned);
  for (std::size_t done = 0; done < values.size(); done += host.size()) {
    const std::size_t count = std::min(host.size(), values.size() - done);
    std::copy_n(values.data() + done, count, host.data());
    copy(stream, there.data() + done, host.data(), count * sizeof(T));
    stream.synchronize();
  }
  return there;
}

template <class T>
Buffer<T> upload(Device device, const std::vector<T>& values) {
  if (values.empty()) return Buffer<T>(device, 0);
  Stream stream(device);
  return upload(stream, values);
}

}  // namespace slipstream

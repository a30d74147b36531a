#pragma once
#include <algorithm>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Calls move(pinned host memory, index of the first value, count) for pieces of an array of limited size. It allocates
/// memory, so call it during set-up.
template <class T, class Move>
void in_pieces(Device device, std::size_t count, const Move& move) {
  if (count == 0) return;
  constexpr std::size_t most = (std::size_t{16} << 20) / sizeof(T);
  const Buffer<T> host(device, std::min(count, most), Memory::pinned);
  for (std::size_t first = 0; first < count; first += host.size())
    move(host.data(), first, std::min(host.size(), count - first));
}

/// Copies values to memory of the stream's device through pinned host memory. Waits for the copy.
template <class Values>
void upload(Stream& stream, const Values& values, typename Values::value_type* to) {
  using T = typename Values::value_type;
  in_pieces<T>(stream.device(), values.size(), [&](T* host, std::size_t first, std::size_t count) {
    std::copy_n(values.data() + first, count, host);
    copy(stream, to + first, host, count * sizeof(T));
    stream.synchronize();
  });
}

template <class Values>
Buffer<typename Values::value_type> upload(Stream& stream, const Values& values) {
  Buffer<typename Values::value_type> there(stream.device(), values.size());
  upload(stream, values, there.data());
  return there;
}

template <class T>
Buffer<T> upload(Device device, const std::vector<T>& values) {
  if (values.empty()) return Buffer<T>(device, 0);
  Stream stream(device);
  return upload(stream, values);
}

/// Copies values from device memory to the host through pinned memory. Waits for the copy.
template <class T>
void download(Stream& stream, const T* from, std::size_t count, T* to) {
  in_pieces<T>(stream.device(), count, [&](T* host, std::size_t first, std::size_t some) {
    copy(stream, host, from + first, some * sizeof(T));
    stream.synchronize();
    std::copy_n(host, some, to + first);
  });
}

}  // namespace slipstream

#include "device/sort/sort.hpp"

#include <numeric>

#include "device/in_parallel.hpp"
#if defined(__CUDACC__)
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "device/cuda/common.hpp"
#endif

namespace slipstream {
inline namespace sort_kernels {

void sort_on_host(KeyedValues& pairs) {
  struct Pair {
    std::uint64_t key;
    std::uint32_t value;
  };
  const std::size_t count = pairs.keys.size(), parts = threads_for(count);
  Unset<Pair> sorted(count);
  const auto each = [&](const auto& move) {
    in_parallel(parts, count, [&](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t n = first; n < last; ++n) move(sorted[n], pairs.keys.data()[n], pairs.values.data()[n]);
    });
  };
  each([](Pair& pair, std::uint64_t key, std::uint32_t value) { pair = {key, value}; });
  radix_sort(sorted, [](const Pair& pair) { return pair.key; });
  each([](const Pair& pair, std::uint64_t& key, std::uint32_t& value) {
    key = pair.key;
    value = pair.value;
  });
}

#if defined(__CUDACC__)
/// Calls a CUB algorithm, call(memory, its bytes, stream), with the temporary memory that it requests.
template <class Call>
void call_cub(Stream& stream, const char* what, const Call& call) {
  const Device device = stream.device();
  const cuda::DeviceScope scope(device);
  auto* const native = static_cast<cudaStream_t>(stream.native());
  std::size_t bytes = 0;
  cuda::check(call(nullptr, bytes, native), device, what);
  const Buffer<std::byte> memory(device, std::max<std::size_t>(bytes, 1));
  cuda::check(call(memory.data(), bytes, native), device, what);
  stream.synchronize();
}

void sort_on_gpu(Stream& stream, KeyedValues& pairs) {
  const std::size_t count = pairs.keys.size();
  KeyedValues other{Buffer<std::uint64_t>(stream.device(), count), Buffer<std::uint32_t>(stream.device(), count)};
  cub::DoubleBuffer<std::uint64_t> keys(pairs.keys.data(), other.keys.data());
  cub::DoubleBuffer<std::uint32_t> values(pairs.values.data(), other.values.data());
  call_cub(stream, "sorting", [&](void* memory, std::size_t& bytes, cudaStream_t native) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, values, static_cast<std::int64_t>(count), 0, 64,
                                           native);
  });
  if (keys.Current() != pairs.keys.data()) std::swap(pairs, other);
}
#endif

}  // namespace sort_kernels

void sort_by_key(Stream& stream, KeyedValues& pairs) {
  if (pairs.keys.size() == 0) return;
  if (stream.device().backend == Backend::host) {
    stream.synchronize();
    return sort_on_host(pairs);
  }
#if defined(__CUDACC__)
  sort_on_gpu(stream, pairs);
#endif
}

void sum_before(Stream& stream, Buffer<std::uint32_t>& numbers) {
  if (stream.device().backend == Backend::host) {
    stream.synchronize();
    std::exclusive_scan(numbers.data(), numbers.data() + numbers.size(), numbers.data(), std::uint32_t{0});
    return;
  }
#if defined(__CUDACC__)
  call_cub(stream, "summing", [&](void* memory, std::size_t& bytes, cudaStream_t native) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, numbers.data(), numbers.data(),
                                         static_cast<std::int64_t>(numbers.size()), native);
  });
#endif
}

}  // namespace slipstream

#include <algorithm>
#include <chrono>

#include <slipstream/buffer.hpp>
#include <slipstream/copy_rate.hpp>
#include <slipstream/launch.hpp>

namespace slipstream {
inline namespace copy_rate_kernels {

constexpr std::int64_t row = 16384;

/// Copies with a factor, so that the compiler cannot replace the loop by memcpy, whose stores bypass the caches.
struct Scale {
  const float* from;
  float* to;
  float factor;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t at = j * row + i;
    to[at] = from[at] * factor;
  }
};

}  // namespace copy_rate_kernels

double copy_rate(Device device, std::size_t bytes, double seconds) {
  const std::int64_t rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / sizeof(float)) / row);
  const std::size_t count = static_cast<std::size_t>(rows * row);
  Buffer<float> from(device, count), to(device, count);
  Stream stream(device);
  fill(stream, from.data(), 0, from.bytes());
  fill(stream, to.data(), 0, to.bytes());
  stream.synchronize();
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  double best = 0;
  do {
    Event begin(device, true), end(device, true);
    stream.record(begin);
    if (device.backend == Backend::host) {
      launch(stream, Box{{0, 0, 0}, {row, rows, 1}}, Scale{from.data(), to.data(), 1.0f});
    } else {
      copy(stream, to.data(), from.data(), from.bytes());
    }
    stream.record(end);
    stream.synchronize();
    best = std::max(best, 2.0 * static_cast<double>(from.bytes()) / (milliseconds(begin, end) * 1e6));
  } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);
  return best;
}

}  // namespace slipstream

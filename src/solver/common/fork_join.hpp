#pragma once
// Runs independent work concurrently on several streams.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <slipstream/stream.hpp>

namespace slipstream {

/// Runs independent launches concurrently that are each too small to fill a device.
class ForkJoin {
 public:
  static constexpr std::size_t most_on_gpu = 16;

  explicit ForkJoin(Device device, Priority priority = Priority::normal) : device_(device), priority_(priority) {}

  /// Calls run(n, lane) for each n < count. The stream and others, `most` in all, take turns as lane. Work on lanes
  /// starts after the stream's earlier work, and the stream's later work after all work on lanes.
  template <class Run>
  void run(Stream& stream, std::size_t count, std::size_t most, Run run) {
    const std::size_t others = std::max<std::size_t>(1, std::min(count, most)) - 1;
    while (others_.size() < others) others_.emplace_back(device_, priority_);
    if (others > 0) {
      const Event ready(device_);
      stream.record(ready);
      for (std::size_t n = 0; n < others; ++n) others_[n].wait(ready);
    }
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t turn = n % (others + 1);
      run(n, turn == 0 ? stream : others_[turn - 1]);
    }
    for (std::size_t n = 0; n < others; ++n) {
      const Event done(device_);
      others_[n].record(done);
      stream.wait(done);
    }
  }

 private:
  Device device_;
  Priority priority_;
  std::vector<Stream> others_;
};

}  // namespace slipstream

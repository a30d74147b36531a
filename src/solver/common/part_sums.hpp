#pragma once
// Partial sums from kernels, and their transfer to the host.
#include <span>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

#include "device/together.hpp"

namespace slipstream {

/// Memory for partial sums on each device, and pinned memory for them on the host. It grows on demand.
class PartSums {
 public:
  struct Part {
    std::size_t device = 0;  ///< device whose kernels write a group of partial sums, as an index in the list of streams
    std::size_t count = 0;
  };

  /// Computes partial sums on devices and copies them to the host. `run` adds to the launches `together` the kernels
  /// that write `count` sums of part i, such as a block, to device memory at `place`. Results last until the next call.
  template <class Run>
  std::vector<std::span<const double>> of(std::vector<Stream>& streams, const std::vector<Part>& parts, Run run) {
    sides_.resize(streams.size());
    std::vector<std::size_t> used(streams.size(), 0), first;
    for (const Part& part : parts) {
      first.push_back(used[part.device]);
      used[part.device] += part.count;
    }
    for (std::size_t d = 0; d < streams.size(); ++d) {
      if (sides_[d].there.size() >= used[d]) continue;
      sides_[d] = {};
      sides_[d].there = Buffer<double>(streams[d].device(), used[d]);
      sides_[d].host = Buffer<double>(streams[d].device(), used[d], Memory::pinned);
    }
    for (std::size_t d = 0; d < streams.size(); ++d) {
      Together together(streams[d]);
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (parts[i].device == d) run(i, together, sides_[d].there.data() + first[i]);
      together.launch();
    }
    for (std::size_t d = 0; d < streams.size(); ++d)
      if (used[d] > 0) copy(streams[d], sides_[d].host.data(), sides_[d].there.data(), used[d] * sizeof(double));
    std::vector<std::span<const double>> all;
    for (Stream& stream : streams) stream.synchronize();
    for (std::size_t i = 0; i < parts.size(); ++i)
      all.emplace_back(sides_[parts[i].device].host.data() + first[i], parts[i].count);
    return all;
  }

 private:
  struct Side {
    Buffer<double> there, host;
  };
  std::vector<Side> sides_;
};

}  // namespace slipstream

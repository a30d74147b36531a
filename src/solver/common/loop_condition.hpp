#pragma once
// Loop control: the devices decide whether another pass of a loop follows.
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/simulation.hpp>

namespace slipstream {

class LoopCondition {
 public:
  LoopCondition(const Loop& loop, const std::vector<Device>& devices);
  /// Before the first pass of a loop.
  void reset(std::vector<Stream>& streams);
  /// After each pass: counts it, and decides whether another one follows.
  void count(std::vector<Stream>& streams);
  /// Not 0 where another pass follows, in memory of a device.
  const std::int32_t* on(std::size_t device) const { return states_[device].data(); }
  /// The same, on the host; waits for the first device.
  bool look(std::vector<Stream>& streams);

 private:
  const Loop& loop_;
  std::vector<Buffer<std::int32_t>> states_;  // whether to continue, and the number of passes
  Buffer<std::int32_t> seen_;
};

}  // namespace slipstream

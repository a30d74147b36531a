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
  /// Resets the condition before the first pass of a loop.
  void reset(std::vector<Stream>& streams);
  /// After each pass: counts it, and decides whether another one follows.
  void count(std::vector<Stream>& streams);
  /// Flag in the memory of a device: not 0 where another pass follows.
  const std::int32_t* on(std::size_t device) const { return states_[device].data(); }
  /// Reads the flag on the host: whether another pass follows. Waits for the first device.
  bool look(std::vector<Stream>& streams);

 private:
  const Loop& loop_;
  std::vector<Buffer<std::int32_t>> states_;  // flag and number of passes, by device
  Buffer<std::int32_t> seen_;
};

}  // namespace slipstream

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
  /// Called after each pass of the loop: counts it, and decides on the device whether another one follows.
  void count(std::vector<Stream>& streams);
  /// Flag in device memory that is not 0 while another pass of the loop follows.
  const std::int32_t* on(std::size_t device) const { return states_[device].data(); }
  /// Reads the flag on the host: whether another pass follows. Waits for the first device.
  bool look(std::vector<Stream>& streams);

 private:
  const Loop& loop_;
  std::vector<Buffer<std::int32_t>> states_;  // flag and number of passes of each device's loop
  Buffer<std::int32_t> seen_;
};

}  // namespace slipstream

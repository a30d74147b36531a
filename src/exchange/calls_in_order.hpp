#pragma once
// Orders the calls of one object across streams.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/device.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Serialises the calls of an object on any streams, because all calls use its memory. A captured call follows the work
/// of its graph's streams. The graph must not be replayed after the object is destroyed.
class CallsInOrder {
 public:
  /// Orders the calls of an object, which error messages name by `what`: a noun phrase such as "a gather-scatter".
  explicit CallsInOrder(std::string what) : used_(std::make_shared<detail::Used>(std::move(what))) {}

  /// Adds a device on which the calls queue work. Each call must then pass one stream on every added device.
  void add(Device device) { devices_.emplace_back(device); }
  /// Checks a call's streams: throws Error (mismatch) unless there is one for each device, on that device.
  void check(const std::vector<Stream>& streams) const;
  /// Orders a call of an object (such as an FFT): work queued between begin() and end() waits for earlier calls' work.
  void begin(std::vector<Stream>& streams);
  void end(std::vector<Stream>& streams);

  /// Whether the work of the last call has run, or its device has failed. Captured calls are not counted.
  bool over() const noexcept;
  /// Marks the object as destroyed. Its graphs can no longer be replayed.
  void close() { used_->over = true; }
  /// Blocks until the devices have finished all queued work.
  void wait() const noexcept;

 private:
  struct OfDevice {
    explicit OfDevice(Device of) : device(of), last(of) {}
    Device device;
    Event last;                // event at the end of the last call
    std::uint64_t stream = 0;  // id of the last call's stream; a call on the same stream needs no event; 0: no call yet
  };
  std::vector<OfDevice> devices_;
  std::shared_ptr<detail::Used> used_;  // tells CUDA graphs whether an exchange, FFT or sum that they call still exists
};

}  // namespace slipstream

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
  /// `what`: a noun phrase such as "a gather-scatter".
  explicit CallsInOrder(std::string what) : used_(std::make_shared<detail::Used>(std::move(what))) {}

  /// Adds a device of the object. Every call passes one stream per device.
  void add(Device device) { devices_.emplace_back(device); }
  /// Throws mismatch unless there is a stream for each device, on that device.
  void check(const std::vector<Stream>& streams) const;
  /// Call begin() before the work of a call is queued, and end() after it.
  void begin(std::vector<Stream>& streams);
  void end(std::vector<Stream>& streams);

  /// Whether the last call has run, or its device has failed. Captured calls are not counted.
  bool over() const noexcept;
  /// Marks the object as destroyed. Its graphs can no longer be replayed.
  void close() { used_->over = true; }
  /// Blocks until the devices have finished all queued work.
  void wait() const noexcept;

 private:
  struct OfDevice {
    explicit OfDevice(Device of) : device(of), last(of) {}
    Device device;
    Event last;                // end of the last call
    std::uint64_t stream = 0;  // stream of the last call, which needs no event; 0: none
  };
  std::vector<OfDevice> devices_;
  std::shared_ptr<detail::Used> used_;  // shared with the caller's graphs
};

}  // namespace slipstream

#pragma once
// Calls of one object, on whatever streams they come.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/device.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Orders the calls of an object after one another, whatever streams they come on: all of them use its memory. A
/// recorded call follows the work of its graph's streams, and may not be replayed after the object's end.
class CallsInOrder {
 public:
  /// `what`: as "a gather-scatter".
  explicit CallsInOrder(std::string what) : used_(std::make_shared<detail::Used>(std::move(what))) {}

  /// One more of the object's devices, to each of which a stream of every call belongs.
  void add(Device device) { devices_.emplace_back(device); }
  /// Before the work of a call is queued, and behind it.
  void begin(std::vector<Stream>& streams);
  void end(std::vector<Stream>& streams);

  /// Whether the last call has run, or its device has failed; what a caller records is not seen.
  bool over() const noexcept;
  /// The object ends: its graphs are not replayed any more.
  void close() { used_->over = true; }
  /// Until the devices have done what is queued.
  void wait() const noexcept;

 private:
  struct OfDevice {
    explicit OfDevice(Device of) : device(of), last(of) {}
    Device device;
    Event last;                // the end of the last call
    std::uint64_t stream = 0;  // and its stream, which needs no event; 0: there was no call
  };
  std::vector<OfDevice> devices_;
  std::shared_ptr<detail::Used> used_;  // by graphs of the caller
};

}  // namespace slipstream

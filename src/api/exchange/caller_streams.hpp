#pragma once
// Streams of a Python program on which an object of the engine queues its work.
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/machine.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::python {

/// The caller's streams, one for each device of a rank, kept from call to call.
class CallerStreams {
 public:
  CallerStreams(const Machine& machine, int rank) {
    for (const int device : machine.devices_of_rank(rank)) devices_.push_back(machine.device(device).local);
  }

  const std::vector<Device>& devices() const { return devices_; }

  /// Returns streams for native handles; without any, the devices' default streams.
  std::vector<Stream>& of(const std::vector<std::uintptr_t>& natives) {
    if (!natives.empty() && natives.size() != devices_.size())
      throw Error(ErrorCode::mismatch,
                  std::to_string(natives.size()) + " streams were given for the " + std::to_string(devices_.size()) +
                      " devices of this rank: give one for each",
                  {{"given", natives.size()}, {"needed", devices_.size()}});
    if (streams_.empty() || natives != natives_) {
      streams_.clear();
      for (std::size_t i = 0; i < devices_.size(); ++i)
        streams_.push_back(Stream::wrap(devices_[i], natives.empty() ? nullptr : reinterpret_cast<void*>(natives[i])));
      natives_ = natives;
    }
    return streams_;
  }

  /// Waits for the streams of host arrays, for which callers name no stream. Returns whether there were any.
  bool finish() {
    bool waited = false;
    for (Stream& stream : streams_)
      if (stream.device().backend == Backend::host) {
        stream.synchronize();
        waited = true;
      }
    return waited;
  }

 private:
  std::vector<Device> devices_;
  std::vector<std::uintptr_t> natives_;
  std::vector<Stream> streams_;
};

}  // namespace slipstream::python

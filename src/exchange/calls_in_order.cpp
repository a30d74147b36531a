#include "exchange/calls_in_order.hpp"

#include <slipstream/error.hpp>

namespace slipstream {

void CallsInOrder::begin(std::vector<Stream>& streams) {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (streams[d].capturing()) {
      streams[d].uses(used_);
    } else {
      streams[d].wait(devices_[d].last);
    }
  }
}

void CallsInOrder::end(std::vector<Stream>& streams) {
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (!streams[d].capturing()) streams[d].record(devices_[d].last);
}

void CallsInOrder::wait() const noexcept {
  for (const OfDevice& one : devices_) {
    try {
      synchronize(one.device);
    } catch (...) {
      // A destructor has nobody to tell; the same error was thrown where the stream was used.
    }
  }
}

}  // namespace slipstream

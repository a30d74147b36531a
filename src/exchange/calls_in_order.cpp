#include "exchange/calls_in_order.hpp"
#include "device/wait_quietly.hpp"

#include <algorithm>

#include <slipstream/error.hpp>

namespace slipstream {

void CallsInOrder::check(const std::vector<Stream>& streams) const {
  if (streams.size() != devices_.size())
    throw Error(ErrorCode::mismatch,
                used_->what + " was given " + std::to_string(streams.size()) + " streams for the " +
                    std::to_string(devices_.size()) + " devices of this rank",
                {{"given", streams.size()}, {"needed", devices_.size()}});
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (streams[d].device() == devices_[d].device) continue;
    const std::string given = to_string(streams[d].device()), needed = to_string(devices_[d].device);
    throw Error(ErrorCode::mismatch,
                "stream " + std::to_string(d) + " of " + used_->what + " is on " + given + ", not on " + needed,
                {{"stream", d}, {"given", given}, {"needed", needed}});
  }
}

void CallsInOrder::begin(std::vector<Stream>& streams) {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (streams[d].capturing()) {
      streams[d].uses(used_);
    } else if (devices_[d].stream != streams[d].id()) {
      streams[d].wait(devices_[d].last);
    }
  }
}

void CallsInOrder::end(std::vector<Stream>& streams) {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (streams[d].capturing()) continue;
    streams[d].record(devices_[d].last);
    devices_[d].stream = streams[d].id();
  }
}

bool CallsInOrder::over() const noexcept {
  return std::all_of(devices_.begin(), devices_.end(), [](const OfDevice& one) {
    try {
      return one.last.done();
    } catch (...) {
      return true;
    }
  });
}

void CallsInOrder::wait() const noexcept {
  for (const OfDevice& one : devices_) wait_quietly(one.device);
}

}  // namespace slipstream

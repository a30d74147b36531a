#pragma once
#include "device/backend.hpp"

namespace slipstream::host {

std::unique_ptr<detail::StreamImpl> make_stream(Device device);
std::shared_ptr<detail::EventImpl> make_event(Device device);
/// Waits for all streams of a virtual device, then throws an error of one. That stream keeps the error for its own
/// synchronize().
void synchronize_streams(int device);

}  // namespace slipstream::host

#pragma once
#include <cstddef>

#include <slipstream/device.hpp>

namespace slipstream {

/// Bytes read and written per second (1e9) by copying an array of `bytes` bytes onto another on the device, over and
/// over for about `seconds`; the best of the passes. On the host: a plain loop of all threads, without non-temporal
/// stores; on a GPU: the driver's device-to-device copy.
double copy_rate(Device device, std::size_t bytes, double seconds);

}  // namespace slipstream

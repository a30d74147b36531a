#pragma once
#include <cstddef>

#include <slipstream/device.hpp>

namespace slipstream {

/// Rate of a copy within the memory of a device, read + write, in GB/s (1e9). It copies an array of `bytes` bytes onto
/// another for about `seconds`, and returns the best pass. On the host it is a plain loop of all threads, without
/// non-temporal stores. On a GPU it is the driver's device-to-device copy.
double copy_rate(Device device, std::size_t bytes, double seconds);

}  // namespace slipstream

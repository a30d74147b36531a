#pragma once
#include <slipstream/device.hpp>

namespace slipstream::detail {

/// Frees unused chunks of a device's arenas. Returns true if there were any.
bool free_unused_chunks(Device device);

}  // namespace slipstream::detail

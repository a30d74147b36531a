#pragma once
#include <slipstream/device.hpp>

namespace slipstream::detail {

/// Frees the chunks of a device's arenas of which nothing is in use; true where there were any.
bool free_unused_chunks(Device device);

}  // namespace slipstream::detail

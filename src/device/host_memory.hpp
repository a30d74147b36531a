#pragma once
#include <cstdint>

namespace slipstream {

/// Available host memory in bytes; 0 if the system does not report it.
std::uint64_t host_memory_free();

}  // namespace slipstream

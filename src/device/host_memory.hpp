#pragma once
#include <cstdint>

namespace slipstream {

/// Bytes of the host's memory that programs can still take; 0 where the system does not say.
std::uint64_t host_memory_free();

}  // namespace slipstream

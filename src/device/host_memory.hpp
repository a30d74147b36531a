#pragma once
#include <cstdint>
#include <string>

namespace slipstream {

/// Available host memory in bytes; 0 if the system does not report it.
std::uint64_t host_memory_free();
/// Name of this host in its network.
std::string host_name();

}  // namespace slipstream

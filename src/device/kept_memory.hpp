#pragma once
#include <slipstream/buffer.hpp>

namespace slipstream::detail {

class DeviceBackend;

/// Memory::message: device memory that outlives its Buffer, for the next one that it fits. MPI libraries remember
/// addresses of other processes' memory that they have mapped, and would use them for whatever lies there later.
void* allocate_kept(DeviceBackend& backend, Device device, std::size_t bytes);
void return_kept(void* pointer) noexcept;
/// Frees what no Buffer holds; true where there was any.
bool release_kept(DeviceBackend& backend, Device device);

}  // namespace slipstream::detail

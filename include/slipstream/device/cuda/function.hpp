#pragma once
// Launch functions that do not depend on the kernel's type.
#include <cuda_runtime_api.h>

#include <cstddef>

#include <slipstream/box.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::cuda {

/// Shape of thread blocks along x, y, z that covers the box with few idle threads; at most `threads` in all. Throws
/// Error where a coordinate of the box does not fit the kernels' int.
dim3 block_shape(const Box& box, int threads);

/// Launches on the stream's device; throws Error where the launch is refused. `early`: its blocks may be placed while
/// the launch before it in the stream ends (programmatic dependent launch), where the device can do that.
void launch_function(Stream& stream, const void* function, dim3 grid, dim3 block, std::size_t shared_bytes,
                     void** arguments, bool early = false);

/// Number of blocks of a kernel that a multiprocessor of the device holds at once, from the driver's occupancy
/// calculation.
int resident_blocks(Device device, const void* function, int threads, std::size_t shared_bytes);

/// Registers a kernel, which is then loaded on each device when the next stream is made there. A kernel that is loaded
/// at its first launch may make the driver wait for the whole device. That would deadlock with a kernel that waits for
/// this launch.
int register_function(const void* function);
/// Loads all registered kernels that are not yet loaded on the device.
void load_functions(Device device);

}  // namespace slipstream::cuda

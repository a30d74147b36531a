#pragma once
// What the files of the CUDA backend share: checked calls, the driver's entry points, the current device.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <memory>
#include <string>

#include <slipstream/error.hpp>

#include "device/backend.hpp"

namespace slipstream::cuda {

/// Throws Error saying what failed, on which device and why; forgets the failure where the driver allows that.
[[noreturn]] void fail(cudaError_t status, Device device, const std::string& what);
[[noreturn]] void fail(CUresult status, Device device, const std::string& what);

inline void check(cudaError_t status, Device device, const char* what) {
  if (status != cudaSuccess) fail(status, device, what);
}
inline void check(CUresult status, Device device, const char* what) {
  if (status != CUDA_SUCCESS) fail(status, device, what);
}

/// Driver functions that the runtime does not offer, found at run time so that programs start without a driver.
struct Driver {
  decltype(&cuCtxGetCurrent) context_current = nullptr;
  decltype(&cuCtxPushCurrent) context_push = nullptr;
  decltype(&cuCtxPopCurrent) context_pop = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) context_retain = nullptr;
  decltype(&cuDevicePrimaryCtxGetState) context_state = nullptr;
  decltype(&cuMemGetAddressRange) address_range = nullptr;
  decltype(&cuPointerGetAttribute) pointer_attribute = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;
};
const Driver& driver();

/// GPUs that the runtime can see; 0 without a driver or a GPU.
int visible_devices();

/// Makes a device the calling thread's current one, and puts back what was current before, which may be nothing:
/// cudaSetDevice would leave a context on device 0 in every process that only uses another one.
class DeviceScope {
 public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  bool pushed_ = false;
};

/// As NVML writes it.
inline std::string uuid_string(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

void* allocate(Device device, Memory memory, std::size_t bytes);
void deallocate(Device device, Memory memory, void* pointer) noexcept;
std::size_t memory_free(Device device, const std::string& uuid);
std::string memory_problem(Device device, const void* pointer, std::size_t bytes);
bool mappable(Device device, const void* pointer);
MemoryHandle export_memory(Device device, const void* pointer);
std::shared_ptr<void> import_memory(Device device, const MemoryHandle& handle);

std::unique_ptr<detail::StreamImpl> make_stream(Device device, Priority priority);
std::unique_ptr<detail::StreamImpl> wrap_stream(Device device, void* native);
std::shared_ptr<detail::EventImpl> make_event(Device device, bool timing);
/// Takes over the recorded graph and makes it ready to launch.
std::shared_ptr<Graph::Impl> make_graph(Device device, cudaGraph_t graph, cudaStream_t stream);
/// Adds, behind a node, the kernel that sets the condition of a loop by a number in device memory.
void add_condition(Device device, cudaGraph_t graph, cudaGraphNode_t behind, cudaGraphConditionalHandle handle,
                   const std::int32_t* again);
/// Where the stream is being captured: keeps something until the graph, and all that is made of it, is gone. It is let
/// go of by any thread, a little later, and may call nothing of CUDA then. `capture` is the last one that has it
/// already.
void keep_with_graph(Device device, cudaStream_t stream, unsigned long long& capture,
                     const std::shared_ptr<void>& kept);

}  // namespace slipstream::cuda

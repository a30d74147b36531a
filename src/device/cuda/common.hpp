#pragma once
// Common parts of the CUDA backend: checked calls, the driver's entry points, the current device.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <memory>
#include <string>

#include <slipstream/error.hpp>

#include "device/backend.hpp"
#include "device/library.hpp"

namespace slipstream::cuda {

/// Throws Error with the failed action, the device and the reason. Clears the CUDA error if the driver allows that.
[[noreturn]] void fail(cudaError_t status, Device device, const std::string& what);
[[noreturn]] void fail(CUresult status, Device device, const std::string& what);

inline void check(cudaError_t status, Device device, const char* what) {
  if (status != cudaSuccess) fail(status, device, what);
}
inline void check(CUresult status, Device device, const char* what) {
  if (status != CUDA_SUCCESS) fail(status, device, what);
}

/// Address of a function of the CUDA driver. Throws Error if the driver lacks it.
LibrarySymbol driver_function(const char* name);

/// Driver functions without a runtime equivalent, loaded at run time so that programs start without a driver.
struct Driver {
  decltype(&cuCtxGetCurrent) context_current = driver_function("cuCtxGetCurrent");
  decltype(&cuCtxPushCurrent) context_push = driver_function("cuCtxPushCurrent");
  decltype(&cuCtxPopCurrent) context_pop = driver_function("cuCtxPopCurrent");
  decltype(&cuDevicePrimaryCtxRetain) context_retain = driver_function("cuDevicePrimaryCtxRetain");
  decltype(&cuDevicePrimaryCtxGetState) context_state = driver_function("cuDevicePrimaryCtxGetState");
  decltype(&cuMemGetAddressRange) address_range = driver_function("cuMemGetAddressRange");
  decltype(&cuPointerGetAttribute) pointer_attribute = driver_function("cuPointerGetAttribute");
  decltype(&cuGetErrorString) error_string = driver_function("cuGetErrorString");
};
const Driver& driver();

/// Number of GPUs visible to the CUDA runtime; 0 without a driver or a GPU.
int visible_devices();

/// Makes a device current for the calling thread, and restores the previous context, possibly none. Restoring by
/// cudaSetDevice would create a context on device 0 in each process that only uses another device.
class DeviceScope {
 public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  bool pushed_ = false;
};

/// Runs `work` with the device current. Does nothing if the driver is gone, because the process is ending.
template <class Work>
void unless_ended(Device device, const Work& work) noexcept {
  try {
    const DeviceScope scope(device);
    work();
  } catch (const Error&) {
  }
}

/// The UUID of a GPU as text in NVML's format.
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

class CudaBackend final : public detail::DeviceBackend {
 public:
  // Queries of devices, and their synchronisation, defined in backend.cpp.
  int device_count() override { return visible_devices(); }
  std::string versions() override;
  DeviceInfo info(Device device) override;
  bool peer_access(Device from, Device to) override;
  void synchronize(Device device) override;
  // Calls about memory, defined in memory.cpp.
  void* allocate(Device device, Memory memory, std::size_t bytes) override;
  void deallocate(Device device, Memory memory, void* pointer) noexcept override;
  std::string memory_problem(Device device, const void* pointer, std::size_t bytes) override;
  bool mappable(Device device, const void* pointer) override;
  MemoryHandle export_memory(Device device, const void* pointer) override;
  std::shared_ptr<void> import_memory(Device device, const MemoryHandle& handle) override;
  // Functions that create CUDA streams and events, defined in stream.cpp.
  std::unique_ptr<detail::StreamImpl> make_stream(Device device, Priority priority) override;
  std::unique_ptr<detail::StreamImpl> wrap_stream(Device device, void* native) override;
  std::shared_ptr<detail::EventImpl> make_event(Device device, bool timing) override;
};

std::size_t memory_free(Device device, const std::string& uuid);

/// Takes ownership of a captured graph and instantiates it.
std::shared_ptr<Graph::Impl> make_graph(Device device, cudaGraph_t graph, cudaStream_t stream);
/// Adds a kernel behind a node of a graph. It sets a loop's condition from a number in device memory.
void add_condition(Device device, cudaGraph_t graph, cudaGraphNode_t behind, cudaGraphConditionalHandle handle,
                   const std::int32_t* again);
/// If the stream is being captured, keeps `used` alive as long as the graph and its instances. The release may happen
/// on any thread, later, and must not call CUDA. `capture`: number of the last capture that holds it already.
void keep_with_graph(Device device, cudaStream_t stream, unsigned long long& capture,
                     const std::shared_ptr<void>& kept);

}  // namespace slipstream::cuda

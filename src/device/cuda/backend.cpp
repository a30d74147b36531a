#include <cstdio>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda/common.hpp"

namespace slipstream::cuda {

void fail(cudaError_t status, Device device, const std::string& what) {
  cudaGetLastError();
  throw Error(ErrorCode::unavailable, what + " failed on " + to_string(device) + ": " + cudaGetErrorString(status) +
                                          " (" + cudaGetErrorName(status) + ")");
}

void fail(CUresult status, Device device, const std::string& what) {
  const char* why = nullptr;
  if (driver().error_string(status, &why) != CUDA_SUCCESS || !why) why = "unknown error";
  throw Error(ErrorCode::unavailable, what + " failed on " + to_string(device) + ": " + why + " (driver error " +
                                          std::to_string(static_cast<int>(status)) + ")");
}

namespace {

template <class Function>
void find(Function& function, const char* name) {
  constexpr unsigned version = 12000;
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found);
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    throw Error(ErrorCode::unavailable, std::string("the CUDA driver of this machine does not offer ") + name +
                                            ": install a driver of CUDA 13 or newer");
  }
  function = reinterpret_cast<Function>(address);
}

Driver find_driver() {
  Driver d;
  find(d.context_current, "cuCtxGetCurrent");
  find(d.context_push, "cuCtxPushCurrent");
  find(d.context_pop, "cuCtxPopCurrent");
  find(d.context_retain, "cuDevicePrimaryCtxRetain");
  find(d.context_state, "cuDevicePrimaryCtxGetState");
  find(d.address_range, "cuMemGetAddressRange");
  find(d.pointer_attribute, "cuPointerGetAttribute");
  find(d.error_string, "cuGetErrorString");
  return d;
}

struct Count {
  int devices = 0;
  cudaError_t status = cudaSuccess;
};

const Count& counted() {
  static const Count count = [] {
    Count c;
    c.status = cudaGetDeviceCount(&c.devices);
    if (c.status != cudaSuccess) {
      c.devices = 0;
      cudaGetLastError();
    }
    return c;
  }();
  return count;
}

void require_device(Device device) {
  const Count& count = counted();
  if (device.index >= 0 && device.index < count.devices) return;
  throw Error(ErrorCode::unavailable,
              to_string(device) + " does not exist: this process sees " + std::to_string(count.devices) + " GPUs" +
                  (count.status == cudaSuccess ? "" : std::string(" (") + cudaGetErrorString(count.status) + ")"),
              {{"device", to_string(device)}, {"limit", count.devices}});
}

CUcontext primary_context(Device device) {
  require_device(device);
  struct Entry {
    std::once_flag once;
    CUcontext context = nullptr;
  };
  static std::vector<Entry> entries(visible_devices());
  Entry& entry = entries[device.index];
  std::call_once(entry.once,
                 [&] { check(driver().context_retain(&entry.context, device.index), device, "opening the GPU"); });
  return entry.context;
}

class CudaBackend final : public detail::DeviceBackend {
 public:
  int device_count() override { return visible_devices(); }

  std::string versions() override {
    int driver_version = 0, runtime_version = 0;
    if (cudaDriverGetVersion(&driver_version) != cudaSuccess || cudaRuntimeGetVersion(&runtime_version) != cudaSuccess)
      return {};
    const auto text = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
    return "driver " + (driver_version ? text(driver_version) : "none") + ", runtime " + text(runtime_version);
  }

  DeviceInfo info(int index) override {
    const Device device = at(index);
    require_device(device);
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), device, "reading the GPU's properties");
    char bus_id[32] = {};
    check(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, index), device, "reading the GPU's PCI address");
    DeviceInfo info;
    info.name = properties.name;
    info.uuid = uuid_string(properties.uuid);
    info.bus_id = bus_id;
    info.memory_total = properties.totalGlobalMem;
    info.memory_free = memory_free(device, info.uuid);
    info.processors = properties.multiProcessorCount;
    return info;
  }

  bool peer_access(int from, int to) override {
    require_device(at(from));
    require_device(at(to));
    if (from == to) return true;
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, from, to), at(from), "asking for peer access");
    if (!can) return false;
    primary_context(at(to));
    const DeviceScope scope(at(from));
    const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();
      return true;
    }
    if (status != cudaSuccess) fail(status, at(from), "enabling access to the memory of " + to_string(at(to)));
    return true;
  }

  void synchronize(int index) override {
    const DeviceScope scope(at(index));
    check(cudaDeviceSynchronize(), at(index), "waiting for the GPU");
  }

  void* allocate(int index, Memory memory, std::size_t bytes) override {
    return cuda::allocate(at(index), memory, bytes);
  }
  void deallocate(int index, Memory memory, void* pointer) noexcept override {
    cuda::deallocate(at(index), memory, pointer);
  }
  std::string memory_problem(int index, const void* pointer, std::size_t bytes) override {
    return cuda::memory_problem(at(index), pointer, bytes);
  }
  bool mappable(int index, const void* pointer) override { return cuda::mappable(at(index), pointer); }
  MemoryHandle export_memory(int index, const void* pointer) override {
    return cuda::export_memory(at(index), pointer);
  }
  std::shared_ptr<void> import_memory(int index, const MemoryHandle& handle) override {
    return cuda::import_memory(at(index), handle);
  }

  std::unique_ptr<detail::StreamImpl> make_stream(int index, Priority priority) override {
    return cuda::make_stream(at(index), priority);
  }
  std::unique_ptr<detail::StreamImpl> wrap_stream(int index, void* native) override {
    return cuda::wrap_stream(at(index), native);
  }
  std::shared_ptr<detail::EventImpl> make_event(int index, bool timing) override {
    return cuda::make_event(at(index), timing);
  }

 private:
  static Device at(int index) { return {Backend::cuda, index}; }
};

}  // namespace

const Driver& driver() {
  static const Driver found = find_driver();
  return found;
}

int visible_devices() { return counted().devices; }

DeviceScope::DeviceScope(Device device) {
  const CUcontext wanted = primary_context(device);
  CUcontext current = nullptr;
  check(driver().context_current(&current), device, "asking for the current GPU");
  if (current == wanted) return;
  check(driver().context_push(wanted), device, "making the GPU current");
  pushed_ = true;
}

DeviceScope::~DeviceScope() {
  CUcontext popped = nullptr;
  if (pushed_) driver().context_pop(&popped);
}

}  // namespace slipstream::cuda

namespace slipstream::detail {

DeviceBackend* cuda_backend() {
  static cuda::CudaBackend* backend = new cuda::CudaBackend;  // never destroyed: buffers may outlive static objects
  return backend;
}

}  // namespace slipstream::detail

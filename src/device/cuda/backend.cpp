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

LibrarySymbol driver_function(const char* name) {
  constexpr unsigned version = 12000;
  LibrarySymbol function;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function.address, version, cudaEnableDefault, &found);
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    throw Error(ErrorCode::unavailable, std::string("the CUDA driver of this machine does not offer ") + name +
                                            ": install a driver of CUDA 13 or newer");
  }
  return function;
}

namespace {

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

}  // namespace

std::string CudaBackend::versions() {
  int driver_version = 0, runtime_version = 0;
  if (cudaDriverGetVersion(&driver_version) != cudaSuccess || cudaRuntimeGetVersion(&runtime_version) != cudaSuccess)
    return {};
  const auto text = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  return "driver " + (driver_version ? text(driver_version) : "none") + ", runtime " + text(runtime_version);
}

DeviceInfo CudaBackend::info(Device device) {
  require_device(device);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device.index), device, "reading the GPU's properties");
  char bus_id[32] = {};
  check(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device.index), device, "reading the GPU's PCI address");
  DeviceInfo info;
  info.name = properties.name;
  info.uuid = uuid_string(properties.uuid);
  info.bus_id = bus_id;
  info.memory_total = properties.totalGlobalMem;
  info.memory_free = memory_free(device, info.uuid);
  info.processors = properties.multiProcessorCount;
  return info;
}

bool CudaBackend::peer_access(Device from, Device to) {
  require_device(from);
  require_device(to);
  if (from == to) return true;
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from.index, to.index), from, "asking for peer access");
  if (!can) return false;
  primary_context(to);
  const DeviceScope scope(from);
  const cudaError_t status = cudaDeviceEnablePeerAccess(to.index, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
    return true;
  }
  if (status != cudaSuccess) fail(status, from, "enabling access to the memory of " + to_string(to));
  return true;
}

void CudaBackend::synchronize(Device device) {
  const DeviceScope scope(device);
  check(cudaDeviceSynchronize(), device, "waiting for the GPU");
}

const Driver& driver() {
  static const Driver found;
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
  static auto* const backend = new cuda::CudaBackend;  // never destroyed: static Buffers use the backend at exit
  return backend;
}

}  // namespace slipstream::detail

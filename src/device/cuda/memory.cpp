#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/cuda/common.hpp"
#include "device/cuda/nvml.hpp"
#include "device/host/memory.hpp"
#include "device/host_memory.hpp"

namespace slipstream::cuda {
namespace {

/// The driver allocates small requests from blocks of this size, and IPC exports the whole block.
constexpr std::size_t ipc_granularity = std::size_t{2} << 20;
constexpr std::size_t host_alignment = 4096;

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

[[noreturn]] void out_of_memory(Device device, const char* kind, std::size_t bytes, std::size_t free) {
  throw OutOfMemory(to_string(device) + " has no room for " + std::to_string(bytes) + " bytes of " + kind +
                        " memory: " + std::to_string(free) + " bytes are free",
                    {{"device", to_string(device)}, {"needed", bytes}, {"available", free}});
}

std::size_t memory_free_in_context(Device device) {
  const DeviceScope scope(device);
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), device, "reading the free memory");
  return free;
}

void* allocate_host(Device device, std::size_t bytes) {
  void* pointer = nullptr;
  if (bytes <= SIZE_MAX - host_alignment) pointer = std::aligned_alloc(host_alignment, rounded(bytes, host_alignment));
  if (!pointer) out_of_memory(device, "host", bytes, host_memory_free());
  return pointer;
}

/// Reads the free memory of GPUs by NVML, without a context: a process queries all visible GPUs but uses one.
std::optional<std::size_t> memory_free_by_nvml(const std::string& uuid) {
  struct Memory {
    unsigned long long total, free, used;
  };
  static const NvmlLibrary& nvml = NvmlLibrary::get();
  static int (*const find)(const char*, void**) = nvml["nvmlDeviceGetHandleByUUID"];
  static int (*const read)(void*, Memory*) = nvml["nvmlDeviceGetMemoryInfo"];
  void* device = nullptr;
  Memory memory{};
  const bool known = nvml.started() && find && read && find(uuid.c_str(), &device) == NvmlLibrary::success &&
                     read(device, &memory) == NvmlLibrary::success;
  return known ? std::optional<std::size_t>(memory.free) : std::nullopt;
}

/// An allocation that was exported to other processes.
struct Region {
  CUdeviceptr base = 0;
  std::uint64_t serial = 0;  // the driver's identifier of the allocation
  MemoryProof proof{};
  std::int64_t proof_at = -1;
};

std::mutex mutex;
std::vector<Region> regions;  // allocations that this process exported
// Mappings of other processes' memory that are in use. Keys: device, and proof (random bytes that identify the memory).
std::map<std::pair<int, MemoryProof>, std::weak_ptr<void>> imported;
std::map<MemoryProof, std::weak_ptr<void>> imported_host;

/// The driver's identifier of an allocation, unique in a process; 0 if the memory is gone.
std::uint64_t serial_of(CUdeviceptr pointer) {
  unsigned long long serial = 0;
  const CUresult status = driver().pointer_attribute(&serial, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer);
  return status == CUDA_SUCCESS ? serial : 0;
}

/// Copies a proof (random bytes that identify shared memory) to or from a device, independent of the caller's streams.
void copy_proof(Device device, void* to, const void* from) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), device, "making a stream");
  cudaError_t status = cudaMemcpyAsync(to, from, sizeof(MemoryProof), cudaMemcpyDefault, stream);
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  static_cast<void>(cudaStreamDestroy(stream));
  check(status, device, "copying the proof of shared memory");
}

/// Memory behind a handle that this process exported itself: the driver refuses to open it.
std::shared_ptr<void> own_memory(Device device, const Region& region) {
  require(serial_of(region.base) == region.serial, ErrorCode::wrong_state,
          "memory of this process that was exported to " + to_string(device) +
              " has been freed: export it again where its Buffer is made anew");
  return {reinterpret_cast<void*>(region.base), [](void*) {}};
}

std::shared_ptr<void> open_memory(Device device, const MemoryHandle& handle) {
  std::weak_ptr<void>& known = imported[{device.index, handle.proof}];
  if (auto base = known.lock()) return base;
  cudaIpcMemHandle_t native;
  std::memcpy(&native, handle.data, sizeof native);
  void* base = nullptr;
  const cudaError_t status = cudaIpcOpenMemHandle(&base, native, cudaIpcMemLazyEnablePeerAccess);
  if (status != cudaSuccess) {
    fail(status, device,
         "mapping GPU memory of process " + std::to_string(handle.process) +
             " (turn the routes direct and colocated off where GPUs cannot share memory)");
  }
  std::shared_ptr<void> owned(base, [device](void* mapped) {
    unless_ended(device, [&] { static_cast<void>(cudaIpcCloseMemHandle(mapped)); });
  });
  if (handle.proof_at >= 0) {
    MemoryProof found{};
    copy_proof(device, &found, static_cast<const char*>(base) + handle.proof_at);
    host::require_proof(handle, found);
  }
  known = owned;
  return owned;
}

/// The record of memory at `base` that is exported to other processes, made at its first export. Needs the mutex.
Region region_of(CUdeviceptr base) {
  const std::uint64_t serial = serial_of(base);
  const auto known = std::find_if(regions.begin(), regions.end(), [&](const Region& r) { return r.base == base; });
  if (known != regions.end() && known->serial == serial) return *known;
  std::erase_if(regions, [&](const Region& r) { return r.base == base; });
  return regions.emplace_back(Region{base, serial, host::make_proof(), -1});
}

/// Stores a new proof, random bytes that identify the memory, behind the values of shared memory.
void prove(Device device, void* pointer, std::size_t bytes) {
  Region region{reinterpret_cast<CUdeviceptr>(pointer), serial_of(reinterpret_cast<CUdeviceptr>(pointer)),
                host::make_proof(), static_cast<std::int64_t>(bytes - sizeof(MemoryProof))};
  copy_proof(device, static_cast<char*>(pointer) + region.proof_at, &region.proof);
  const std::lock_guard lock(mutex);
  regions.push_back(region);
}

void pin(Device device, void* pointer, std::size_t bytes) {
  const DeviceScope scope(device);
  check(cudaHostRegister(pointer, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped), device,
        "pinning host memory that processes share");
}

void unpin(Device device, void* pointer) noexcept {
  unless_ended(device, [&] {
    if (cudaHostUnregister(pointer) != cudaSuccess) cudaGetLastError();
  });
}

void* allocate_pinned_shared(Device device, std::size_t bytes) {
  void* pointer = detail::host_backend().allocate({Backend::host, device.index}, Memory::shared, bytes);
  try {
    pin(device, pointer, rounded(bytes, host_alignment));
  } catch (const Error&) {
    detail::host_backend().deallocate({}, Memory::shared, pointer);
    throw;
  }
  return pointer;
}

/// Opens a memory file of another process and pins it for the devices of this process.
std::shared_ptr<void> open_host_memory(Device device, MemoryHandle whole) {
  whole.offset = 0;
  std::weak_ptr<void>& known = imported_host[whole.proof];
  if (auto base = known.lock()) return base;
  const std::shared_ptr<void> mapped = detail::host_backend().import_memory({}, whole);
  pin(device, mapped.get(), whole.bytes);
  std::shared_ptr<void> owned(mapped.get(), [mapped, device](void* pointer) { unpin(device, pointer); });
  known = owned;
  return owned;
}

}  // namespace

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(MemoryHandle::data));

std::size_t memory_free(Device device, const std::string& uuid) {
  unsigned flags = 0;
  int active = 0;
  check(driver().context_state(device.index, &flags, &active), device, "asking whether the GPU is in use");
  const std::optional<std::size_t> free = active ? std::nullopt : memory_free_by_nvml(uuid);
  return free ? *free : memory_free_in_context(device);
}

void* CudaBackend::allocate(Device device, Memory memory, std::size_t bytes) {
  if (memory == Memory::host) return allocate_host(device, bytes);
  if (memory == Memory::pinned_shared) return allocate_pinned_shared(device, bytes);
  const DeviceScope scope(device);
  void* pointer = nullptr;
  if (memory == Memory::pinned) {
    const cudaError_t status = cudaHostAlloc(&pointer, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      out_of_memory(device, "pinned host", bytes, host_memory_free());
    }
    check(status, device, "allocating pinned memory");
    return pointer;
  }
  const bool shared = memory == Memory::shared && bytes < SIZE_MAX - 2 * ipc_granularity;
  const std::size_t wanted = shared ? rounded(bytes + sizeof(MemoryProof), ipc_granularity) : bytes;
  const cudaError_t status = cudaMalloc(&pointer, wanted);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    out_of_memory(device, "GPU", bytes, memory_free_in_context(device));
  }
  check(status, device, "allocating GPU memory");
  if (!shared) return pointer;
  try {
    prove(device, pointer, wanted);
  } catch (const Error&) {
    cudaFree(pointer);
    throw;
  }
  return pointer;
}

void CudaBackend::deallocate(Device device, Memory memory, void* pointer) noexcept {
  if (memory == Memory::host) {
    std::free(pointer);
    return;
  }
  if (memory == Memory::pinned_shared) {
    unpin(device, pointer);
    detail::host_backend().deallocate({}, memory, pointer);
    return;
  }
  if (memory == Memory::shared) {
    const std::lock_guard lock(mutex);
    std::erase_if(regions, [&](const Region& r) { return r.base == reinterpret_cast<CUdeviceptr>(pointer); });
  }
  // An error of cudaFree or cudaFreeHost comes from earlier work or the end of the process, so it is ignored.
  unless_ended(device, [&] {
    if ((memory == Memory::pinned ? cudaFreeHost(pointer) : cudaFree(pointer)) != cudaSuccess) cudaGetLastError();
  });
}

std::string CudaBackend::memory_problem(Device device, const void* pointer, std::size_t bytes) {
  const DeviceScope scope(device);
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, pointer), device, "asking where an array lies");
  if (attributes.type == cudaMemoryTypeUnregistered || attributes.type == cudaMemoryTypeHost)
    return "the array lies in host memory, not in memory of " + to_string(device) +
           ": allocate it with cudaMalloc, cudaMallocAsync or cudaMallocManaged";
  if (attributes.type == cudaMemoryTypeDevice && attributes.device != device.index)
    return "the array lies on cuda:" + std::to_string(attributes.device) + ", but its block on " + to_string(device) +
           ": allocate it there, or give the block to the other device";
  // The size of memory that the user mapped is not checked: it may continue in a second allocation.
  if (!mappable(device, pointer)) return {};
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  check(driver().address_range(&base, &size, address), device, "finding the allocation of an array");
  if (address + bytes > base + size)
    return "the array needs " + std::to_string(bytes) + " bytes, but its allocation ends after " +
           std::to_string(base + size - address) + ": allocate the ghosts (and the padding) too";
  return {};
}

bool CudaBackend::mappable(Device device, const void* pointer) {
  const DeviceScope scope(device);
  int capable = 0;
  const CUresult status = driver().pointer_attribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                                     reinterpret_cast<CUdeviceptr>(pointer));
  return status == CUDA_SUCCESS && capable != 0;
}

MemoryHandle CudaBackend::export_memory(Device device, const void* pointer) {
  if (detail::host_backend().mappable({}, pointer)) {
    MemoryHandle handle = detail::host_backend().export_memory({}, pointer);
    handle.backend = Backend::cuda;
    return handle;
  }
  const DeviceScope scope(device);
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  check(driver().address_range(&base, &bytes, address), device, "finding the allocation of memory to share");
  cudaIpcMemHandle_t native;
  const cudaError_t status = cudaIpcGetMemHandle(&native, reinterpret_cast<void*>(base));
  if (status != cudaSuccess) {
    fail(status, device,
         "naming memory for other processes (memory of a pool cannot be shared: "
         "use a Buffer with Memory::shared)");
  }
  MemoryHandle handle;
  handle.backend = Backend::cuda;
  handle.process = getpid();
  handle.offset = address - base;
  handle.bytes = bytes;
  std::memcpy(handle.data, &native, sizeof native);
  const std::lock_guard lock(mutex);
  const Region region = region_of(base);
  handle.proof = region.proof;
  handle.proof_at = region.proof_at;
  return handle;
}

std::shared_ptr<void> CudaBackend::import_memory(Device device, const MemoryHandle& handle) {
  require(handle.backend == Backend::cuda, ErrorCode::mismatch,
          "memory of the " + to_string(handle.backend) + " backend cannot be mapped on " + to_string(device));
  const std::lock_guard lock(mutex);
  const auto gone = [](const auto& entry) { return entry.second.expired(); };
  std::erase_if(imported, gone);
  std::erase_if(imported_host, gone);
  if (handle.file >= 0) {
    const auto base = open_host_memory(device, handle);
    return {base, static_cast<char*>(base.get()) + handle.offset};
  }
  const DeviceScope scope(device);
  const auto own =
      std::find_if(regions.begin(), regions.end(), [&](const Region& r) { return r.proof == handle.proof; });
  const auto base = own != regions.end() ? own_memory(device, *own) : open_memory(device, handle);
  return {base, static_cast<char*>(base.get()) + handle.offset};
}

}  // namespace slipstream::cuda

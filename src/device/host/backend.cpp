#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <random>

#include <slipstream/device.hpp>
#include <slipstream/error.hpp>

#include "device/backend.hpp"
#include "device/host/memory.hpp"
#include "device/host/stream.hpp"
#include "device/host_memory.hpp"

namespace slipstream::host {
namespace {

std::atomic<int> virtual_devices{1};

struct Allocation {
  std::size_t bytes = 0;
  int file = -1;
  MemoryProof proof{};
};

std::mutex mutex;
std::map<const char*, Allocation> allocations;        // allocations by the address of their first byte
std::map<MemoryProof, std::weak_ptr<void>> imported;  // imported memory by its proof, random bytes that identify it
std::atomic<std::int64_t> of_devices{0};

constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::size_t meminfo(const char* key) {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  std::size_t kilobytes = 0;
  while (file >> name >> kilobytes >> unit)
    if (name == key) return kilobytes * 1024;
  return 0;
}

void* map(std::size_t bytes, int file) {
  const int flags = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* pointer = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  return pointer == MAP_FAILED ? nullptr : pointer;
}

/// Creates an anonymous memory file, so that no name is left behind; other processes open it through /proc.
int make_file(std::size_t bytes) {
  const int file = memfd_create("slipstream", MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

/// Offset of the proof (random bytes that identify the memory), which is stored behind the user's bytes.
std::int64_t proof_at(std::size_t bytes) { return static_cast<std::int64_t>(bytes - sizeof(MemoryProof)); }

/// The shared allocation that contains an address, or end(). The mutex must be held.
std::map<const char*, Allocation>::const_iterator shared_holding(const void* pointer) {
  auto found = allocations.upper_bound(static_cast<const char*>(pointer));
  if (found == allocations.begin()) return allocations.end();
  --found;
  const std::size_t offset = static_cast<const char*>(pointer) - found->first;
  return offset < found->second.bytes && found->second.file >= 0 ? found : allocations.end();
}

}  // namespace

std::int64_t bytes_of_devices() { return of_devices; }

MemoryProof make_proof() {
  std::random_device random;
  MemoryProof proof{};
  for (std::uint64_t& word : proof) word = (std::uint64_t{random()} << 32) | random();
  return proof;
}

void require_proof(const MemoryHandle& handle, const MemoryProof& found) {
  require(
      found == handle.proof, ErrorCode::mismatch,
      "memory was named by process " + std::to_string(handle.process) +
          " of another rank, and this process finds other memory under that name: the ranks have process numbers "
          "of their own (containers); start them in one PID namespace, or turn the routes direct and colocated off");
}

namespace {

class HostBackend final : public detail::DeviceBackend {
 public:
  int device_count() override { return virtual_devices; }
  std::string versions() override { return {}; }
  DeviceInfo info(Device device) override {
    DeviceInfo info;
    info.name = "emulated device";
    info.uuid = host_name() + "-" + std::to_string(getpid()) + "-" + std::to_string(device.index);
    info.memory_total = meminfo("MemTotal:");
    info.memory_free = host_memory_free();
    info.processors = host_threads();
    return info;
  }

  bool peer_access(Device, Device) override { return true; }
  void synchronize(Device device) override { synchronize_streams(device.index); }
  std::string memory_problem(Device, const void*, std::size_t) override { return {}; }

  void* allocate(Device device, Memory memory, std::size_t bytes) override {
    const bool shared = memory == Memory::shared || memory == Memory::pinned_shared;
    const std::size_t rounded = shared ? round_up(bytes + sizeof(MemoryProof), page) : round_up(bytes, huge_page);
    const auto fail = [&]() -> void* {
      throw OutOfMemory(to_string(device) + " has no room for an array of " + std::to_string(bytes) + " bytes (" +
                            std::to_string(host_memory_free()) + " bytes are available)",
                        {{"device", to_string(device)}, {"needed", bytes}, {"available", host_memory_free()}});
    };
    if (bytes > (std::size_t{64} << 20) && bytes > host_memory_free()) return fail();
    const bool mapped = shared || (memory != Memory::host && bytes >= huge_page);
    if (!mapped) {
      void* pointer = std::aligned_alloc(page, round_up(bytes, page));
      if (!pointer) return fail();
      if (memory == Memory::device) of_devices += static_cast<std::int64_t>(malloc_usable_size(pointer));
      return pointer;
    }
    Allocation allocation{rounded, -1, {}};
    if (shared && (allocation.file = make_file(rounded)) < 0) return fail();
    void* pointer = map(rounded, allocation.file);
    if (!pointer) return fail();
    if (shared) {
      allocation.proof = make_proof();
      std::memcpy(static_cast<char*>(pointer) + proof_at(rounded), &allocation.proof, sizeof allocation.proof);
    } else {
      madvise(pointer, rounded, MADV_HUGEPAGE);
    }
    if (memory == Memory::device) of_devices += static_cast<std::int64_t>(rounded);
    std::lock_guard lock(mutex);
    allocations[static_cast<const char*>(pointer)] = allocation;
    return pointer;
  }

  void deallocate(Device, Memory memory, void* pointer) noexcept override {
    std::lock_guard lock(mutex);
    const auto found = allocations.find(static_cast<const char*>(pointer));
    const bool mapped = found != allocations.end();
    if (memory == Memory::device)
      of_devices -= static_cast<std::int64_t>(mapped ? found->second.bytes : malloc_usable_size(pointer));
    if (!mapped) {
      std::free(pointer);
      return;
    }
    munmap(pointer, found->second.bytes);
    if (found->second.file >= 0) close(found->second.file);
    allocations.erase(found);
  }

  bool mappable(Device, const void* pointer) override {
    std::lock_guard lock(mutex);
    return shared_holding(pointer) != allocations.end();
  }

  MemoryHandle export_memory(Device, const void* pointer) override {
    std::lock_guard lock(mutex);
    const auto found = shared_holding(pointer);
    require(found != allocations.end(), ErrorCode::not_found,
            "memory was exported that is not in a Buffer of kind Memory::shared");
    MemoryHandle handle;
    handle.backend = Backend::host;
    handle.process = getpid();
    handle.file = found->second.file;
    handle.offset = static_cast<const char*>(pointer) - found->first;
    handle.bytes = found->second.bytes;
    handle.proof = found->second.proof;
    handle.proof_at = proof_at(handle.bytes);
    return handle;
  }

  std::shared_ptr<void> import_memory(Device, const MemoryHandle& handle) override {
    std::lock_guard lock(mutex);
    std::erase_if(imported, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<void>& known = imported[handle.proof];
    std::shared_ptr<void> base = known.lock();
    if (!base) {
      const std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
      const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
      require(file >= 0, ErrorCode::unavailable,
              "memory of process " + std::to_string(handle.process) + " cannot be mapped (" + path + ": " +
                  std::strerror(errno) + "); turn the routes direct and colocated off");
      // A file of another length is not mapped: the other process's descriptor may refer to a different file by now.
      struct stat status {};
      const bool whole = fstat(file, &status) == 0 && status.st_size == static_cast<off_t>(handle.bytes);
      void* mapped = whole ? map(handle.bytes, file) : nullptr;
      close(file);
      if (!whole) require_proof(handle, {});
      require(mapped != nullptr, ErrorCode::unavailable,
              "memory of process " + std::to_string(handle.process) + " cannot be mapped");
      base = std::shared_ptr<void>(mapped, [bytes = handle.bytes](void* p) { munmap(p, bytes); });
      MemoryProof found{};
      std::memcpy(&found, static_cast<const char*>(mapped) + handle.proof_at, sizeof found);
      require_proof(handle, found);
      known = base;
    }
    return {base, static_cast<char*>(base.get()) + handle.offset};
  }

  std::unique_ptr<detail::StreamImpl> make_stream(Device device, Priority) override {
    require(device.index >= 0, "a stream was made on a negative device");
    return host::make_stream(device);
  }

  std::unique_ptr<detail::StreamImpl> wrap_stream(Device device, void* native) override {
    require(native == nullptr, ErrorCode::unsupported, "the host backend has no native streams to wrap");
    return make_stream(device, Priority::normal);
  }

  std::shared_ptr<detail::EventImpl> make_event(Device device, bool) override { return host::make_event(device); }
};

}  // namespace
}  // namespace slipstream::host

namespace slipstream {

std::uint64_t host_memory_free() { return host::meminfo("MemAvailable:"); }

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

void set_host_devices(int count) {
  require(count >= 1, "the host backend needs at least one virtual device");
  host::virtual_devices = count;
}

detail::DeviceBackend& detail::host_backend() {
  static host::HostBackend backend;
  return backend;
}

}  // namespace slipstream

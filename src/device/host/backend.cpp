#include <unistd.h>

#include <atomic>

#include <slipstream/device.hpp>
#include <slipstream/error.hpp>

#include "device/backend.hpp"
#include "device/host/memory.hpp"
#include "device/host/stream.hpp"

namespace slipstream {
namespace {

std::atomic<int> virtual_devices{1};

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

class HostBackend final : public detail::DeviceBackend {
 public:
  int device_count() override { return virtual_devices; }
  std::string versions() override { return {}; }

  DeviceInfo info(int device) override {
    DeviceInfo info;
    info.name = "emulated device";
    info.uuid = host_name() + "-" + std::to_string(getpid()) + "-" + std::to_string(device);
    info.memory_total = host::memory_total();
    info.memory_free = host::memory_available();
    info.processors = host_threads();
    return info;
  }

  bool peer_access(int, int) override { return true; }

  void synchronize(int device) override { host::HostStream::synchronize_all(device); }

  void* allocate(int device, Memory memory, std::size_t bytes) override {
    return host::allocate(device, memory, bytes);
  }
  void deallocate(int, Memory memory, void* pointer) noexcept override { host::deallocate(memory, pointer); }
  std::string memory_problem(int, const void*, std::size_t) override { return {}; }
  bool mappable(int, const void* pointer) override { return host::mappable(pointer); }
  MemoryHandle export_memory(int, const void* pointer) override { return host::export_memory(pointer); }
  std::shared_ptr<void> import_memory(int, const MemoryHandle& handle) override { return host::import_memory(handle); }

  std::unique_ptr<detail::StreamImpl> make_stream(int device, Priority) override {
    require(device >= 0, "a stream was made on a negative device");
    return std::make_unique<host::HostStream>(Device{Backend::host, device});
  }

  std::unique_ptr<detail::StreamImpl> wrap_stream(int device, void* native) override {
    require(native == nullptr, ErrorCode::unsupported, "the host backend has no native streams to wrap");
    return make_stream(device, Priority::normal);
  }

  std::shared_ptr<detail::EventImpl> make_event(int device, bool) override {
    return std::make_shared<host::HostEvent>(Device{Backend::host, device});
  }
};

}  // namespace

void set_host_devices(int count) {
  require(count >= 1, "the host backend needs at least one virtual device");
  virtual_devices = count;
}

namespace detail {
DeviceBackend& host_backend() {
  static HostBackend backend;
  return backend;
}
}  // namespace detail

}  // namespace slipstream

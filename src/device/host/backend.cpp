#include <unistd.h>

#include <atomic>

#include <slipstream/device.hpp>
#include <slipstream/error.hpp>

#include "device/backend.hpp"
#include "device/host/memory.hpp"
#include "device/host/stream.hpp"
#include "device/host_memory.hpp"

namespace slipstream {
namespace {

std::atomic<int> virtual_devices{1};

class HostBackend final : public detail::DeviceBackend {
 public:
  int device_count() override { return virtual_devices; }
  std::string versions() override { return {}; }

  DeviceInfo info(Device device) override {
    DeviceInfo info;
    info.name = "emulated device";
    info.uuid = host_name() + "-" + std::to_string(getpid()) + "-" + std::to_string(device.index);
    info.memory_total = host::memory_total();
    info.memory_free = host_memory_free();
    info.processors = host_threads();
    return info;
  }

  bool peer_access(Device, Device) override { return true; }

  void synchronize(Device device) override { host::HostStream::synchronize_all(device.index); }

  void* allocate(Device device, Memory memory, std::size_t bytes) override {
    return host::allocate(device.index, memory, bytes);
  }
  void deallocate(Device, Memory memory, void* pointer) noexcept override { host::deallocate(memory, pointer); }
  std::string memory_problem(Device, const void*, std::size_t) override { return {}; }
  bool mappable(Device, const void* pointer) override { return host::mappable(pointer); }
  MemoryHandle export_memory(Device, const void* pointer) override { return host::export_memory(pointer); }
  std::shared_ptr<void> import_memory(Device, const MemoryHandle& handle) override {
    return host::import_memory(handle);
  }

  std::unique_ptr<detail::StreamImpl> make_stream(Device device, Priority) override {
    require(device.index >= 0, "a stream was made on a negative device");
    return std::make_unique<host::HostStream>(device);
  }

  std::unique_ptr<detail::StreamImpl> wrap_stream(Device device, void* native) override {
    require(native == nullptr, ErrorCode::unsupported, "the host backend has no native streams to wrap");
    return make_stream(device, Priority::normal);
  }

  std::shared_ptr<detail::EventImpl> make_event(Device device, bool) override {
    return std::make_shared<host::HostEvent>(device);
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

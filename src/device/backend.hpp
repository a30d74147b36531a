#pragma once
// The interface between the value types of device/ and the backends host/ and cuda/.
#include <cstdint>
#include <memory>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::detail {

class EventImpl {
 public:
  explicit EventImpl(Device device) : device(device) {}
  virtual ~EventImpl() = default;
  virtual bool done() const = 0;
  virtual void synchronize() const = 0;
  virtual double milliseconds_since(const EventImpl& earlier) const = 0;
  const Device device;
};

class StreamImpl {
 public:
  explicit StreamImpl(Device device) : device(device) {}
  virtual ~StreamImpl() = default;
  virtual void* native() const = 0;
  virtual std::uint64_t id() const = 0;
  virtual void record(std::shared_ptr<EventImpl> event) = 0;
  virtual void wait(std::shared_ptr<EventImpl> event) = 0;
  virtual void synchronize() = 0;
  virtual bool idle() const = 0;
  virtual void begin_capture() = 0;
  virtual bool capturing() const = 0;
  virtual void uses(const std::shared_ptr<const Used>& used) = 0;
  virtual std::shared_ptr<Graph::Impl> end_capture() = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void fill(void* to, unsigned char value, std::size_t bytes) = 0;
  virtual void copy_box(void* to, Pitch to_pitch, const void* from, Pitch from_pitch, const Extent& extent) = 0;
  const Device device;
};

/// Operations of a backend, which has one stateless implementation; see backend_of().
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  virtual int device_count() = 0;
  virtual std::string versions() = 0;
  virtual DeviceInfo info(Device device) = 0;
  virtual bool peer_access(Device from, Device to) = 0;
  virtual void synchronize(Device device) = 0;
  virtual void* allocate(Device device, Memory memory, std::size_t bytes) = 0;
  virtual void deallocate(Device device, Memory memory, void* pointer) noexcept = 0;
  virtual std::string memory_problem(Device device, const void* pointer, std::size_t bytes) = 0;
  virtual bool mappable(Device device, const void* pointer) = 0;
  virtual MemoryHandle export_memory(Device device, const void* pointer) = 0;
  virtual std::shared_ptr<void> import_memory(Device device, const MemoryHandle& handle) = 0;
  virtual std::unique_ptr<StreamImpl> make_stream(Device device, Priority priority) = 0;
  virtual std::unique_ptr<StreamImpl> wrap_stream(Device device, void* native) = 0;
  virtual std::shared_ptr<EventImpl> make_event(Device device, bool timing) = 0;
};

DeviceBackend& host_backend();
/// The CUDA backend; null in a build without CUDA.
DeviceBackend* cuda_backend();
/// The implementation of a backend; throws if the backend is not in this build.
DeviceBackend& backend_of(Backend backend);

/// Frees unused chunks of a device's arenas; true if there were any.
bool free_unused_chunks(Device device);

/// Allocates without injecting test faults; allocate() adds those.
void* allocate_now(Device device, Memory memory, std::size_t bytes);

}  // namespace slipstream::detail

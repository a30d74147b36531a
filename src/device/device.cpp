#include <slipstream/buffer.hpp>
#include <slipstream/device.hpp>
#include <slipstream/stream.hpp>

#include <string>

#include "device/backend.hpp"
#include "device/faults.hpp"
#include "device/kept_memory.hpp"
#include "device/names.hpp"

namespace slipstream {

namespace detail {

#if !defined(SLIPSTREAM_CUDA)
DeviceBackend* cuda_backend() { return nullptr; }
#endif

DeviceBackend& backend_of(Backend backend) {
  if (backend == Backend::host) return host_backend();
  DeviceBackend* cuda = cuda_backend();
  require(cuda != nullptr, ErrorCode::unavailable,
          "this build of Slipstream has no CUDA backend: configure with the preset cuda", {{"backend", "cuda"}});
  return *cuda;
}

void* allocate(Device device, Memory memory, std::size_t bytes) {
  faults::pass(faults::Step::allocation);
  return allocate_now(device, memory, bytes);
}

void* allocate_now(Device device, Memory memory, std::size_t bytes) {
  DeviceBackend& backend = backend_of(device.backend);
  const auto take = [&] {
    return memory == Memory::message ? allocate_kept(backend, device, bytes) : backend.allocate(device, memory, bytes);
  };
  try {
    return take();
  } catch (const OutOfMemory&) {
    // Freed arena chunks of message memory go to the pool of reusable memory, so the pool is released second.
    const bool unused = free_unused_chunks(device), kept = release_kept(backend, device);
    if (!unused && !kept) throw;
  }
  return take();
}

void deallocate(Device device, Memory memory, void* pointer) noexcept {
  if (memory == Memory::message) return return_kept(pointer);
  backend_of(device.backend).deallocate(device, memory, pointer);
}

}  // namespace detail

using detail::backend_of;

bool available(Backend backend) {
  if (backend == Backend::host) return true;
  return detail::cuda_backend() != nullptr && detail::cuda_backend()->device_count() > 0;
}

int device_count(Backend backend) { return available(backend) ? backend_of(backend).device_count() : 0; }
std::string driver_versions(Backend backend) {
  if (backend == Backend::cuda && !detail::cuda_backend()) return {};
  return backend_of(backend).versions();
}
DeviceInfo info(Device device) { return backend_of(device.backend).info(device); }
void synchronize(Device device) { backend_of(device.backend).synchronize(device); }

bool peer_access(Device from, Device to) {
  return from.backend == to.backend && (from.index == to.index || backend_of(from.backend).peer_access(from, to));
}

namespace {

constexpr std::pair<const char*, Backend> backend_names[] = {{"host", Backend::host}, {"cuda", Backend::cuda}};

}  // namespace

std::string to_string(Backend backend) { return name_in(backend_names, backend); }
Backend backend_from_string(const std::string& name) {
  return value_in(backend_names, name, "no backend is named", "backend");
}
std::string to_string(Device device) { return to_string(device.backend) + ":" + std::to_string(device.index); }

std::string memory_problem(Device device, const void* pointer, std::size_t bytes) {
  if (!pointer) return "the address of the array is null";
  return backend_of(device.backend).memory_problem(device, pointer, bytes);
}

bool mappable(Device device, const void* pointer) { return backend_of(device.backend).mappable(device, pointer); }

MemoryHandle export_memory(Device device, const void* pointer) {
  return backend_of(device.backend).export_memory(device, pointer);
}

std::shared_ptr<void> import_memory(Device device, const MemoryHandle& handle) {
  require(handle.backend == device.backend, ErrorCode::mismatch, "memory of another backend cannot be mapped");
  return backend_of(device.backend).import_memory(device, handle);
}

Event::Event(Device device, bool timing) : impl_(backend_of(device.backend).make_event(device, timing)) {}
bool Event::done() const { return impl_->done(); }
void Event::synchronize() const { impl_->synchronize(); }
double milliseconds(const Event& from, const Event& to) { return to.impl()->milliseconds_since(*from.impl()); }

Stream::Stream(Device device, Priority priority) : impl_(backend_of(device.backend).make_stream(device, priority)) {}
Stream::Stream(std::unique_ptr<detail::StreamImpl> impl) : impl_(std::move(impl)) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream Stream::wrap(Device device, void* native) {
  return Stream(backend_of(device.backend).wrap_stream(device, native));
}
Device Stream::device() const { return impl_->device; }
void* Stream::native() const { return impl_->native(); }
std::uint64_t Stream::id() const { return impl_->id(); }
void Stream::record(const Event& event) { impl_->record(event.impl()); }
void Stream::wait(const Event& event) { impl_->wait(event.impl()); }
void Stream::synchronize() { impl_->synchronize(); }
bool Stream::idle() const { return impl_->idle(); }
void Stream::begin_capture() { impl_->begin_capture(); }
bool Stream::capturing() const { return impl_->capturing(); }
void Stream::uses(const std::shared_ptr<const detail::Used>& used) { impl_->uses(used); }
Graph repeat(Device device, const Graph& body, const std::int32_t* again) {
  require(again != nullptr,
          "a graph on " + to_string(device) + " cannot be repeated without a number that ends the loop");
  Graph loop(body.impl()->repeated(body.impl(), again));
  loop.impl()->used = body.impl()->used;
  return loop;
}
Graph Stream::end_capture() { return Graph(impl_->end_capture()); }

void Graph::launch(Stream& stream) const {
  for (const auto& used : impl_->used)
    if (used->over)
      throw Error(ErrorCode::wrong_state,
                  "a graph that holds " + used->what + " was launched after its end, when its memory may be " +
                      "reused: destroy graphs before the objects that they use, or capture them again",
                  {{"holds", used->what}});
  impl_->launch(stream.impl());
}

void copy(Stream& stream, void* to, const void* from, std::size_t bytes) {
  if (bytes) stream.impl().copy(to, from, bytes);
}
void fill(Stream& stream, void* to, unsigned char value, std::size_t bytes) {
  if (bytes) stream.impl().fill(to, value, bytes);
}
void copy_box(Stream& stream, void* to, Pitch to_pitch, const void* from, Pitch from_pitch, const Extent& extent) {
  if (volume(extent) > 0) stream.impl().copy_box(to, to_pitch, from, from_pitch, extent);
}

}  // namespace slipstream

#pragma once
#include <atomic>
#include <utility>

#include <slipstream/buffer.hpp>

namespace slipstream::detail {

class DeviceBackend;

/// Memory::message: a pool of device memory that is reused and not freed. MPI libraries cache mappings of other
/// processes' addresses, and would use them for whatever is allocated there later.
void* allocate_kept(DeviceBackend& backend, Device device, std::size_t bytes);
void return_kept(void* pointer) noexcept;
/// Frees blocks of the pool that no Buffer holds. Returns true if there were any.
bool release_kept(DeviceBackend& backend, Device device);

}  // namespace slipstream::detail

namespace slipstream {

/// Never destroys an object, such as a Buffer or a Span, because unreachable peers or a library may still use its
/// memory. Thread-safe.
template <class Object>
void keep_for_ever(Object object) {
  struct Node {
    Object held;
    Node* next = nullptr;
  };
  static std::atomic<Node*> first = nullptr;
  if constexpr (requires { object.data(); })
    if (!object.data()) return;
  Node* const node = new Node{std::move(object), first};
  while (!first.compare_exchange_weak(node->next, node)) {
  }
}

}  // namespace slipstream

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
/// Frees blocks that no Buffer holds; true if there were any.
bool release_kept(DeviceBackend& backend, Device device);

}  // namespace slipstream::detail

namespace slipstream {

/// Never frees the memory of a Buffer or a Span, because unreachable peers may still store to it. Thread-safe.
template <class Memory>
void keep_for_ever(Memory memory) {
  struct Node {
    Memory held;
    Node* next = nullptr;
  };
  static std::atomic<Node*> first = nullptr;
  if (!memory.data()) return;
  Node* const node = new Node{std::move(memory), first};
  while (!first.compare_exchange_weak(node->next, node)) {
  }
}

}  // namespace slipstream

#pragma once
#include <atomic>
#include <utility>

#include <slipstream/buffer.hpp>

namespace slipstream::detail {

class DeviceBackend;

/// Memory::message: device memory that outlives its Buffer, for the next one that it fits. MPI libraries remember
/// addresses of other processes' memory that they have mapped, and would use them for whatever lies there later.
void* allocate_kept(DeviceBackend& backend, Device device, std::size_t bytes);
void return_kept(void* pointer) noexcept;
/// Frees what no Buffer holds; true where there was any.
bool release_kept(DeviceBackend& backend, Device device);

}  // namespace slipstream::detail

namespace slipstream {

/// Never frees the memory of a Buffer or a Span: others, who cannot be asked any more, may still store to it. From any
/// thread.
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

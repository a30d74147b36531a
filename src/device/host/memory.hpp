#pragma once
#include <slipstream/buffer.hpp>

namespace slipstream::host {

void* allocate(int device, Memory memory, std::size_t bytes);
void deallocate(Memory memory, void* pointer) noexcept;
bool mappable(const void* pointer);
MemoryHandle export_memory(const void* pointer);
MemoryProof make_proof();
/// Throws Error if memory mapped by `handle` holds another proof (random bytes that identify it) than the handle has.
void require_proof(const MemoryHandle& handle, const MemoryProof& found);
std::shared_ptr<void> import_memory(const MemoryHandle& handle);
std::size_t memory_total();
/// Bytes of Memory::device that this process holds now, on all its devices, as the host has rounded them up.
std::int64_t bytes_of_devices();

}  // namespace slipstream::host

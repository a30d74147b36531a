#pragma once
#include <slipstream/buffer.hpp>

namespace slipstream::host {

MemoryProof make_proof();
/// Throws Error if memory mapped by `handle` holds another proof (random bytes that identify it) than the handle has.
void require_proof(const MemoryHandle& handle, const MemoryProof& found);
/// Bytes of Memory::device that this process holds now, on all its devices, as the host has rounded them up.
std::int64_t bytes_of_devices();

}  // namespace slipstream::host

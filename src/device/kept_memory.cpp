#include "device/kept_memory.hpp"

#include <bit>
#include <map>
#include <mutex>

#include "device/backend.hpp"

namespace slipstream::detail {
namespace {

struct Block {
  Device device;
  std::size_t bytes = 0;
  bool in_use = false;
};

/// List of blocks that are reused. Never destroyed: static Buffers may return memory after it.
struct Kept {
  std::mutex mutex;
  std::map<void*, Block> blocks;
};

Kept& kept() {
  static Kept* all = new Kept;
  return *all;
}

/// Bytes of a block for a request: at most 25 % more, so that buffers of similar size share blocks. At least 2 MB,
/// because the driver packs smaller buffers into one block.
std::size_t size_class(std::size_t bytes) {
  constexpr std::size_t least = std::size_t{2} << 20;
  if (bytes <= least) return least;
  const std::size_t unit = std::bit_floor(bytes) / 4;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

void* allocate_kept(DeviceBackend& backend, Device device, std::size_t bytes) {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  const std::size_t size = size_class(bytes);
  for (auto& [pointer, block] : all.blocks)
    if (!block.in_use && block.device == device && block.bytes == size) {
      block.in_use = true;
      return pointer;
    }
  void* const pointer = backend.allocate(device, Memory::device, size);
  all.blocks[pointer] = {device, size, true};
  return pointer;
}

void return_kept(void* pointer) noexcept {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  const auto found = all.blocks.find(pointer);
  if (found != all.blocks.end()) found->second.in_use = false;
}

bool release_kept(DeviceBackend& backend, Device device) {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  return std::erase_if(all.blocks, [&](const auto& entry) {
           if (entry.second.in_use || !(entry.second.device == device)) return false;
           backend.deallocate(device, Memory::device, entry.first);
           return true;
         }) > 0;
}

}  // namespace slipstream::detail

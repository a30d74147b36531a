#include <slipstream/arena.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "device/backend.hpp"
#include "device/faults.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace slipstream {
namespace detail {
namespace {

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// In builds with AddressSanitizer, makes it report accesses to arena memory outside of all spans.
void allow([[maybe_unused]] bool access, [[maybe_unused]] Device device, [[maybe_unused]] std::byte* from,
           [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  if (device.backend == Backend::host)
    access ? __asan_unpoison_memory_region(from, bytes) : __asan_poison_memory_region(from, bytes);
#endif
}

bool on_host(Memory memory) { return memory == Memory::pinned || memory == Memory::pinned_shared; }

/// All live arenas, so that unused memory can be reclaimed. Never destroyed: static spans of arenas may outlive it.
struct Living {
  std::mutex mutex;
  std::set<ArenaMemory*> all;
};

Living& living() {
  static auto& all = *new Living;
  return all;
}

}  // namespace

/// The arena's memory of one device, in chunks for each kind of memory.
class ArenaMemory : public std::enable_shared_from_this<ArenaMemory> {
 public:
  explicit ArenaMemory(Device device) : device_(device) {
    const std::lock_guard lock(living().mutex);
    living().all.insert(this);
  }
  ~ArenaMemory() {
    const std::lock_guard lock(living().mutex);
    living().all.erase(this);
  }
  ArenaMemory(const ArenaMemory&) = delete;
  ArenaMemory& operator=(const ArenaMemory&) = delete;

  Device device() const { return device_; }

  Piece take(std::size_t bytes, Memory memory) {
    require(memory != Memory::host, "an arena has no pageable host memory: use a Buffer");
    faults::pass(faults::Step::allocation);
    const Memory kind = memory == Memory::device ? Memory::shared : memory;
    const std::size_t size = round_up(bytes, on_host(kind) ? page : granule);
    std::unique_lock lock(mutex_);
    std::byte* place = nullptr;
    // The lock is not held here: an allocation that fails frees unused chunks of all arenas, which takes their locks.
    while (!(place = fit(size, bytes, kind))) {
      lock.unlock();
      Chunk chunk = grown(size, kind);
      lock.lock();
      std::byte* const start = chunk.memory.get();
      chunks_.emplace(start, std::move(chunk));
    }
    if (kind == Memory::pinned_shared) std::memset(place, 0, bytes);
    return {shared_from_this(), place, size};
  }

  void give_back(std::byte* place, std::size_t size) noexcept {
    const std::lock_guard lock(mutex_);
    auto& [start, chunk] = *std::prev(chunks_.upper_bound(place));
    allow(false, device_, place, size);
    std::size_t at = static_cast<std::size_t>(place - start);
    auto next = chunk.free.lower_bound(at);
    if (next != chunk.free.end() && next->first == at + size) {
      size += next->second;
      next = chunk.free.erase(next);
    }
    if (next != chunk.free.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == at) {
        before->second += size;
        return;
      }
    }
    chunk.free.emplace(at, size);
  }

  Arena::Use use(Memory memory) const {
    const std::lock_guard lock(mutex_);
    Arena::Use sum;
    for (const auto& [start, chunk] : chunks_) {
      if (chunk.kind != (memory == Memory::device ? Memory::shared : memory)) continue;
      ++sum.chunks;
      sum.bytes += chunk.bytes;
      sum.used += chunk.bytes;
      for (const auto& [at, size] : chunk.free) sum.used -= size;
    }
    return sum;
  }

  bool free_unused() {
    const std::lock_guard lock(mutex_);
    return std::erase_if(chunks_, [](const auto& entry) { return entry.second.unused(); }) > 0;
  }

 private:
  static constexpr std::size_t granule = 256;
  static constexpr std::size_t page = 4096;

  struct Free {
    Device device;
    Memory kind = Memory::shared;
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const noexcept {
      allow(true, device, memory, bytes);
      deallocate(device, kind, memory);
    }
  };

  struct Chunk {
    std::unique_ptr<std::byte, Free> memory;
    Memory kind;
    std::size_t bytes;
    std::map<std::size_t, std::size_t> free;  // free ranges of the chunk: bytes by offset; adjacent ranges are merged
    bool unused() const { return free.size() == 1 && free.begin()->second == bytes; }
  };

  /// Chooses the smallest free range that is large enough, so that repeated allocations of the same sizes get their old
  /// places. The mutex must be held.
  std::byte* fit(std::size_t size, std::size_t bytes, Memory kind) {
    std::pair<const std::byte* const, Chunk>* best = nullptr;
    std::size_t best_at = 0, best_size = 0;
    for (auto& entry : chunks_) {
      if (entry.second.kind != kind) continue;
      for (const auto& [at, room] : entry.second.free)
        if (room >= size && (!best || room < best_size)) {
          best = &entry;
          best_at = at;
          best_size = room;
        }
    }
    if (!best) return nullptr;
    Chunk& chunk = best->second;
    chunk.free.erase(best_at);
    if (best_size > size) chunk.free.emplace(best_at + size, best_size - size);
    std::byte* const place = chunk.memory.get() + best_at;
    allow(true, device_, place, bytes);
    return place;
  }

  Chunk grown(std::size_t size, Memory kind) const {
    const std::size_t least = round_up(size, Arena::least_chunk);
    const std::size_t wanted = std::max(least, std::min(Arena::most_growth, use(kind).bytes));
    try {
      return chunk_of(wanted, kind);
    } catch (const Error&) {
      // The chunk was refused: there is too little memory, or pinned memory has a limit.
      if (wanted == least) throw;
    }
    return chunk_of(least, kind);
  }

  Chunk chunk_of(std::size_t bytes, Memory kind) const {
    auto* const memory = static_cast<std::byte*>(allocate_now(device_, kind, bytes));
    Chunk chunk{{memory, Free{device_, kind, bytes}}, kind, bytes, {{0, bytes}}};
    allow(false, device_, memory, bytes);
    return chunk;
  }

  const Device device_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, Chunk> chunks_;  // all chunks by the address of their first byte
};

Piece::~Piece() {
  if (owner_) owner_->give_back(data_, bytes_);
}

bool free_unused_chunks(Device device) {
  Living& known = living();
  const std::lock_guard lock(known.mutex);
  bool any = false;
  for (ArenaMemory* memory : known.all)
    if (memory->device() == device) any |= memory->free_unused();
  return any;
}

}  // namespace detail

Arena::Arena(Device device) : memory_(std::make_shared<detail::ArenaMemory>(device)) {}
Device Arena::device() const { return memory_->device(); }
Arena::Use Arena::use(Memory memory) const { return memory_->use(memory); }
detail::Piece Arena::piece(std::size_t bytes, Memory memory) const { return memory_->take(bytes, memory); }

Arena Arenas::of(Device device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [](const auto& memory) { return memory.expired(); });
  for (const auto& known : all_)
    if (auto memory = known.lock(); memory && memory->device() == device) return Arena(std::move(memory));
  Arena made(device);
  all_.push_back(made.memory_);
  return made;
}

}  // namespace slipstream

#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/device.hpp>

namespace slipstream {

namespace detail {

class ArenaMemory;

/// A range of bytes of a chunk, which the destructor returns to the arena. Move-only.
class Piece {
 public:
  Piece() = default;
  Piece(std::shared_ptr<ArenaMemory> owner, std::byte* data, std::size_t bytes)
      : owner_(std::move(owner)), data_(data), bytes_(bytes) {}
  Piece(Piece&& other) noexcept { swap(other); }
  Piece& operator=(Piece&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Piece();
  std::byte* data() const { return data_; }

 private:
  void swap(Piece& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  std::shared_ptr<ArenaMemory> owner_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace detail

/// `size()` values of T in an arena. Move-only, like a Buffer; contents start undefined. A span keeps its arena's
/// memory alive, and its destructor returns the values to the arena. By then nobody may store there any more. Memory
/// that somebody may still store to goes to keep_for_ever() instead, and is never used again.
template <class T>
class Span {
 public:
  Span() = default;
  Span(Device device, detail::Piece piece, std::size_t size) : device_(device), piece_(std::move(piece)), size_(size) {}
  Span(Span&& other) noexcept { swap(other); }
  Span& operator=(Span&& other) noexcept {
    swap(other);
    return *this;
  }

  T* data() const { return reinterpret_cast<T*>(piece_.data()); }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  Device device() const { return device_; }

 private:
  void swap(Span& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(piece_, other.piece_);
    std::swap(size_, other.size_);
  }
  Device device_{};
  detail::Piece piece_;
  std::size_t size_ = 0;
};

/// The memory that exchanges of one device share: receive buffers, counters and packed messages. An arena grows by
/// chunks and hands out spans of them. Processes of a node export and map a whole chunk once, for all that lies in it.
/// A span has one owner until its end, so no exchange waits for another's memory.
///
/// An Arena is a handle. The memory is freed with the last handle and the last span. Chunks without spans are freed
/// earlier where the process would run out of memory otherwise. Any thread may use it.
class Arena {
 public:
  /// A new chunk holds the request that did not fit. It is at least as large as all chunks so far, up to `most_growth`
  /// bytes.
  static constexpr std::size_t least_chunk = std::size_t{2} << 20;
  static constexpr std::size_t most_growth = std::size_t{64} << 20;

  explicit Arena(Device device);
  explicit Arena(std::shared_ptr<detail::ArenaMemory> memory) : memory_(std::move(memory)) {}
  Device device() const;

  /// A span (piece of the arena) starts at a multiple of 256 B, in host memory at a page. `memory` must not be `host`.
  /// Other processes may map `device` memory, too. `pinned_shared` memory starts as zeros. Throws OutOfMemory.
  template <class T>
  Span<T> take(std::size_t size, Memory memory = Memory::device) const {
    return {device(), size ? piece(size * sizeof(T), memory) : detail::Piece{}, size};
  }

  /// Number of allocated chunks of memory, their bytes, and the bytes used by spans (ranges that take() returned).
  struct Use {
    std::size_t chunks = 0;
    std::size_t bytes = 0;
    std::size_t used = 0;
  };
  Use use(Memory memory = Memory::device) const;

 private:
  friend class Arenas;
  detail::Piece piece(std::size_t bytes, Memory memory) const;
  std::shared_ptr<detail::ArenaMemory> memory_;
};

/// One arena for each device, kept while somebody uses it.
class Arenas {
 public:
  Arena of(Device device);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<detail::ArenaMemory>> all_;
};

}  // namespace slipstream

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

/// A stretch of a chunk, which its end gives back. Move-only.
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

/// `size()` values of T in an arena. Move-only, as a Buffer; contents start undefined. It keeps its arena's memory
/// alive, and gives its own back at its end: by then nobody may store there any more. What somebody still might store
/// to is given to keep_for_ever() instead, and never used again.
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

/// The memory that exchanges of one device share: for landing slots, counters and packed messages. It grows by chunks,
/// which processes of a node export and map whole, once for all that lies in them, and hands out spans of them. Who
/// takes a span has it alone until its end, so that no exchange waits for another's memory.
///
/// A handle; the memory goes with the last handle and the last span. Chunks of which nothing is in use are freed
/// before, where the process would else run short of memory. Any thread may use it.
class Arena {
 public:
  /// A chunk is as large as what did not fit, and at least as large as all chunks so far, up to `most_growth` bytes.
  static constexpr std::size_t least_chunk = std::size_t{2} << 20;
  static constexpr std::size_t most_growth = std::size_t{64} << 20;

  explicit Arena(Device device);
  explicit Arena(std::shared_ptr<detail::ArenaMemory> memory) : memory_(std::move(memory)) {}
  Device device() const;

  /// Spans start at multiples of 256 B, in host memory at pages. `memory`: as of a Buffer, but for `host`; `device` is
  /// as good as `shared`, and `pinned_shared` is zero at first, every time. Throws OutOfMemory.
  template <class T>
  Span<T> take(std::size_t size, Memory memory = Memory::device) const {
    return {device(), size ? piece(size * sizeof(T), memory) : detail::Piece{}, size};
  }

  /// What was allocated, and what of it is in spans.
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

/// One arena for each device, as long as somebody uses it.
class Arenas {
 public:
  Arena of(Device device);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<detail::ArenaMemory>> all_;
};

}  // namespace slipstream

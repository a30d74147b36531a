#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <slipstream/device.hpp>
#include <slipstream/error.hpp>

namespace slipstream {

/// Where a buffer lies. `device` memory belongs to one Device. `pinned` memory is host memory that the device can copy
/// from and to without a detour. `shared` is device memory that other processes of the node may map (plain device
/// memory on CUDA, a memory file on the host backend). `pinned_shared` is pinned memory, zero at first, that other
/// processes of the node may map; their devices can copy from and to it. `message` is device memory whose addresses are
/// passed to a message library. The process caches it for the next such Buffer, until it runs out of memory.
enum class Memory : std::uint8_t { device, shared, pinned, pinned_shared, host, message };

/// 128 random bits that identify an allocation among those of all processes.
using MemoryProof = std::array<std::uint64_t, 2>;

/// Names memory of another process of the same node by its allocation and the offset in it. Trivially copyable, so that
/// it can travel in a message.
struct MemoryHandle {
  Backend backend = Backend::host;
  std::int32_t process = 0;
  std::int32_t file = -1;    ///< descriptor of the memory file on the host backend
  std::uint64_t offset = 0;  ///< offset in bytes from the start of the allocation
  std::uint64_t bytes = 0;   ///< size of the whole allocation in bytes
  MemoryProof proof{};       ///< random bits that identify the allocation
  /// Byte offset in the allocation of a copy of its identifying bits, checked on mapping; -1: none (a caller's memory).
  std::int64_t proof_at = -1;
  unsigned char data[64] = {};  ///< CUDA's handle for memory of another process (IPC)
};

namespace detail {
void* allocate(Device device, Memory memory, std::size_t bytes);
void deallocate(Device device, Memory memory, void* pointer) noexcept;
}  // namespace detail

/// Owns `size()` values of T in one memory of one device. Move-only; contents start undefined.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device device, std::size_t size, Memory memory = Memory::device)
      : device_(device), memory_(memory), size_(size) {
    if (size) data_ = static_cast<T*>(detail::allocate(device, memory, size * sizeof(T)));
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (data_) detail::deallocate(device_, memory_, data_);
  }
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  Device device() const { return device_; }
  Memory memory() const { return memory_; }
  /// The values as a span, for memory that the host may access (pinned, host, or a host-backend device).
  std::span<T> span() const {
    require(memory_ == Memory::pinned || memory_ == Memory::pinned_shared || memory_ == Memory::host ||
                device_.backend == Backend::host,
            ErrorCode::unsupported, "a Buffer in GPU memory cannot be read by the host: copy it first");
    return {data_, size_};
  }

 private:
  Device device_{};
  Memory memory_ = Memory::device;
  std::size_t size_ = 0;
  T* data_ = nullptr;
};

/// Says why kernels of the device cannot use `bytes` bytes from `pointer` on, in memory that no Buffer owns. Empty
/// where they can, as far as the backend can tell.
std::string memory_problem(Device device, const void* pointer, std::size_t bytes);
/// True where export_memory() can name the memory for other processes. On CUDA the result is false for memory of a
/// pool, managed memory, and memory that was mapped by hand. On the host it is true only for memory in a Buffer of kind
/// Memory::shared.
bool mappable(Device device, const void* pointer);
/// Names memory inside a `shared` allocation of this process for other processes of the node.
MemoryHandle export_memory(Device device, const void* pointer);
/// Maps memory that another process has named. An allocation is mapped once for all callers, and unmapped with the last
/// of these pointers. That must be before its owner frees it. Throws Error where the memory cannot be mapped. Also
/// throws where the mapped memory does not hold the handle's random bits (`proof`). It is then another allocation,
/// because process numbers are ambiguous between containers.
std::shared_ptr<void> import_memory(Device device, const MemoryHandle& handle);

}  // namespace slipstream

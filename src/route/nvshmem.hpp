#pragma once
// Interface to the library NVSHMEM. A build with NVSHMEM uses nvshmem_cuda.cpp, others use nvshmem_nocuda.cpp.
#include <map>
#include <memory>
#include <string>

#include "route/route.hpp"

namespace slipstream {

/// Offsets of this rank's messages in a block of symmetric memory, of which every rank has one.
struct SymmetricLayout {
  struct Place {
    std::size_t full = 0;  ///< offset in symmetric memory of the counter of filled receive buffers, at the target
    std::size_t free = 0;  ///< offset in symmetric memory of the counter of emptied receive buffers, at the source
    std::size_t slot = 0;  ///< offset of the receive buffer, at the target
    /// offset of the values to send, at the source: the library sends from its own heap only
    std::size_t outgoing = 0;
    std::size_t bytes = 0;  ///< size of the receive buffer, and of the values to send
  };
  std::map<std::pair<int, int>, Place> places;  ///< offsets of messages, by source and target device
  std::size_t counter_bytes = 0;                ///< bytes of the counters of filled and emptied receive buffers
  std::size_t bytes = 0;                        ///< bytes of each rank's symmetric memory, the same on all ranks
};
/// Offsets of these messages in symmetric memory, one after another on each device. The result is right for a device if
/// all its messages are listed.
SymmetricLayout symmetric_layout(const std::vector<RouteSetup::Letter>& letters);
/// Offsets of this rank's messages in NVSHMEM's symmetric memory, agreed between each message's ranks. Collective.
SymmetricLayout agreed_layout(const RouteSetup& setup);

/// A block of symmetric memory, and NVSHMEM's operations on it in stream order. The block is no span of an arena,
/// because NVSHMEM only accesses its own heap. All ranks must also allocate and free its memory together and in the
/// same order.
class NvshmemBlock : public RouteState {
 public:
  /// Address of a byte offset in this rank's block of NVSHMEM's symmetric memory.
  virtual std::byte* at(std::size_t offset) const = 0;
  /// Address of an offset in another rank's block if this rank's kernels can load and store there, else null.
  virtual std::byte* mapped(std::size_t offset, int rank) const = 0;
  /// Copies bytes to an offset in another rank's symmetric memory, then adds 1 to a counter there.
  virtual void put(Stream& stream, std::size_t to, const std::byte* from, std::size_t bytes, std::size_t counter,
                   int rank) = 0;
  virtual void set(Stream& stream, std::size_t counter, std::uint64_t value, int rank) = 0;
  /// Blocks the stream until a counter of this rank has reached a value. The bytes that were put before are then
  /// visible.
  virtual void wait(Stream& stream, std::size_t counter, std::uint64_t value) = 0;

  SymmetricLayout layout;
};

/// Reason why NVSHMEM cannot be used; empty if it can.
std::string nvshmem_missing();
/// Allocates a block of symmetric memory with all counters 0. Collective. No rank may set a counter before all ranks
/// have returned.
std::shared_ptr<NvshmemBlock> nvshmem_block(const RouteSetup& setup);

}  // namespace slipstream

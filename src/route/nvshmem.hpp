#pragma once
// The calls of the library NVSHMEM, in a build that has it (nvshmem_cuda.cpp) or has not (nvshmem_nocuda.cpp).
#include <map>
#include <memory>
#include <string>

#include "route/route.hpp"

namespace slipstream {

/// Where each message has its places in a block of memory that every rank has, at the same offsets.
struct SymmetricLayout {
  struct Place {
    std::size_t full = 0;      ///< counter at the target
    std::size_t free = 0;      ///< counter at the source
    std::size_t slot = 0;      ///< at the target
    std::size_t outgoing = 0;  ///< at the source: the library sends from memory that it knows
    std::size_t bytes = 0;     ///< of each of the two
  };
  std::map<std::pair<int, int>, Place> places;  ///< by source and target
  std::size_t counter_bytes = 0;                ///< at the block's start
  std::size_t bytes = 0;
};
SymmetricLayout symmetric_layout(const std::vector<RouteSetup::Letter>& letters);

/// A block of every rank's symmetric memory, and what the library does with it in stream order. No span of an arena:
/// the library's own heap alone is what it puts to and from, and all ranks must take and free its pieces together, in
/// one order, wherever they lie.
class NvshmemBlock : public RouteState {
 public:
  /// In this rank's block.
  virtual std::byte* at(std::size_t offset) const = 0;
  /// In that rank's block, where this rank's kernels reach it by loads and stores; else null.
  virtual std::byte* mapped(std::size_t offset, int rank) const = 0;
  /// Copies to the same block of another rank and then adds 1 to a counter there.
  virtual void put(Stream& stream, std::size_t to, const std::byte* from, std::size_t bytes, std::size_t counter,
                   int rank) = 0;
  virtual void set(Stream& stream, std::size_t counter, std::uint64_t value, int rank) = 0;
  /// Until a counter of this rank has reached the value and what was put before it can be read.
  virtual void wait(Stream& stream, std::size_t counter, std::uint64_t value) = 0;

  SymmetricLayout layout;
};

/// Empty where the library can be used, else the reason why not.
std::string nvshmem_missing();
/// Collective. The block's counters are 0; no rank may set any before all ranks have returned.
std::shared_ptr<NvshmemBlock> nvshmem_block(const RouteSetup& setup);

}  // namespace slipstream

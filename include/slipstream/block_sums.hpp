#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <slipstream/collective.hpp>
#include <slipstream/communicator.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Sums over blocks that lie on any devices, with the same bits however they are dealt; the results stay on the
/// devices. What dot products and norms end with: the caller's kernel leaves a part for each block, in an order of its
/// own within the block.
///
/// With s_b the part of block b, every device gets
///
///     ((s_0 + s_1) + (s_2 + s_3)) + ((s_4 + s_5) + ...
///
/// neighbours first, then pairs of neighbours, and so on; a number that no block has is left out. The tree depends on
/// the blocks' numbers and on nothing else: not on devices, ranks or methods. A device adds up whole branches that lie
/// on it, an AllReduce brings the others together, and every device adds up the rest. A sum that is zero is +0.
///
/// One object may be used by one host thread at a time; runs of one object are ordered after one another.
class BlockSums {
 public:
  /// Collective. `blocks`: the numbers of the blocks of each device of this rank, ascending; a device may have none.
  /// `sums`: that one run makes. Throws Error on all ranks where two devices have one block, or where blocks lie so
  /// mixed that the branches of all devices, times `sums`, are more than AllReduce::most_values: give each device
  /// blocks beside each other.
  BlockSums(const Communicator& comm, const Machine& machine, const std::vector<std::vector<std::int64_t>>& blocks,
            int sums = 1, AllReduceOptions options = {});
  ~BlockSums();  ///< collective, as AllReduce's
  BlockSums(BlockSums&&) noexcept;

  /// parts[i] and results[i] lie in memory of the i-th device of this rank, streams[i] is a stream there: part of the
  /// n-th block for sum s at parts[i][s * blocks + n], and sum s at results[i][s]. May be captured where the all-reduce
  /// may.
  void run(std::vector<Stream>& streams, const std::vector<const double*>& parts, const std::vector<double*>& results);
  /// Throws Timeout where a wait of an earlier run gave up.
  void check() const;
  /// Whether runs may be captured, and whether a graph may repeat them within itself.
  bool capturable() const;
  bool loopable() const;
  /// Branches of all devices, which travel.
  int branches() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream

#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <slipstream/collective.hpp>
#include <slipstream/communicator.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Sums over blocks that lie on any devices. The bits do not depend on how blocks are distributed; the results stay on
/// the devices. It is the last stage of dot products and norms. The caller's kernel writes one partial sum for each
/// block, in an order of its own within the block.
///
/// With s_b the partial sum of block b, every device gets
///
///     ((s_0 + s_1) + (s_2 + s_3)) + ((s_4 + s_5) + ...
///
/// by pairwise summation: neighbours first, then pairs of neighbours, and so on. A number that no block has is left
/// out. The tree depends on the blocks' numbers only, not on devices, ranks or methods. A device sums whole subtrees
/// that lie on it, an AllReduce combines the others, and every device sums the rest. A sum that is zero is +0. By
/// ReduceMethod::peer a run is one kernel a device, unless shared memory has no room for its partial sums.
///
/// One object may be used by one host thread at a time; runs of one object are ordered after one another.
class BlockSums {
 public:
  /// Collective. `blocks`: the numbers of the blocks of each device of this rank, ascending; a device may have none.
  /// `sums`: the number of sums that one run computes. Throws Error on all ranks where two devices have one block. Also
  /// throws where the subtrees of all devices, times `sums`, are more than AllReduce::most_values. Contiguous blocks on
  /// each device avoid that.
  BlockSums(const Communicator& comm, const Machine& machine, const std::vector<std::vector<std::int64_t>>& blocks,
            int sums = 1, AllReduceOptions options = {});
  ~BlockSums();  ///< collective: all ranks destroy the object; waits as the destructor of AllReduce does
  BlockSums(BlockSums&&) noexcept;

  /// Queues the sums. parts[i] and results[i] lie in memory of the i-th device of this rank, and streams[i] is a stream
  /// there. The partial sum s of the n-th block is parts[i][s * blocks + n]; sum s is results[i][s]. May be captured
  /// where the all-reduce may.
  void run(std::vector<Stream>& streams, const std::vector<const double*>& parts, const std::vector<double*>& results);
  /// Throws Timeout where a wait of an earlier run timed out.
  void check() const;
  /// Whether runs may be captured in CUDA graphs, and whether a graph may repeat them in a loop.
  bool capturable() const;
  bool loopable() const;
  /// Number of subtrees of all devices, whose sums the AllReduce combines.
  int branches() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream

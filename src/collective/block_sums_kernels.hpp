#pragma once
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

#include "collective/collective_kernels.hpp"

namespace slipstream {

/// The operation values[left] += values[right].
struct Addition {
  std::int32_t left = 0, right = 0;
};

/// Additions of a summation tree by level. Those of one level are independent.
using Levels = std::vector<std::vector<Addition>>;

/// A summation tree on one device, for several sums at once, as kernels see it.
struct SumTree {
  std::int32_t values = 0;   ///< number of inputs per sum
  std::int32_t results = 0;  ///< number of partial sums to return of each sum, each at a node of the summation tree
  std::int32_t sums = 0, levels = 0, additions = 0;
  /// Plan of the summation tree. For each level: the index of its first addition; then the end of the last level. Then
  /// all additions. For each result: the index of its value, or -1 if it is 0.
  const std::int32_t* plan = nullptr;

  SLIP_FN std::int32_t plan_words() const { return levels + 1 + 2 * additions + results; }
  /// Bytes of shared memory for the values and the plan of the sums.
  SLIP_FN std::int64_t shared_bytes() const { return std::int64_t{8} * values * sums + std::int64_t{4} * plan_words(); }
};

class TreeOnDevice {
 public:
  /// Copies a summation tree to the device. Result r is the tree's value number sources[r], or 0 if that is -1.
  TreeOnDevice(Device device, int values, const Levels& levels, const std::vector<std::int32_t>& sources, int sums);
  /// Adds up all sums. Sum s reads its values at from + s * values and writes its results to to + s * results.
  void run(Stream& stream, const double* from, double* to) const;
  const SumTree& tree() const { return tree_; }

 private:
  Buffer<std::int32_t> plan_;
  SumTree tree_;
  mutable Buffer<double> work_;  // partial sums in device memory, if shared memory is too small
};

/// A sum over blocks on one device of several. `lower` adds up its blocks, a reduction combines the results of all
/// devices, and `upper` adds up these.
struct SumOnDevice {
  /// Stores a device's summation trees: `lower` before, `upper` after the reduction over `devices` devices.
  SumOnDevice(Device device, TreeOnDevice lower, TreeOnDevice upper, int devices);

  TreeOnDevice lower, upper;
  Buffer<double> gathered;  ///< partial sums, reduced over devices in place; unused if one launch does all
  int resident = 0;         ///< number of thread blocks that fit a multiprocessor; 0: shared memory is too small
};

/// Sums over the blocks of a device, then reduces the sums over devices through peer memory, in a launch of one thread
/// block. After a timeout the results stay as they were.
void launch_sum(Stream& stream, const PeerReduce& reduce, const SumOnDevice& sum, const double* parts, double* results);

}  // namespace slipstream

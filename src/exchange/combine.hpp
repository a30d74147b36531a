#pragma once
// Combines values that several blocks contribute to the same target, in a fixed order.
#include <deque>
#include <vector>

#include "mover/ends.hpp"
#include "mover/lower.hpp"

namespace slipstream {

/// The received values of one transfer, and the array with which they are combined.
struct Contributor {
  Arrived arrived;
  Place target;
  std::size_t message = 0;  ///< number of the message that brought the values
};

/// A copy that combines values, and the messages that it reads, in ascending order.
struct Combined {
  Mover mover;
  std::vector<std::size_t> messages;
};

/// Creates movers (copies of a launch) that combine all contributions to a value with the target's own value, in the
/// order of source block ids. The own value comes at its block's id, before contributions of the same block. Values
/// that need the same messages are in movers of their own, so that none waits for more. Transfers of the same messages
/// that only copy are copied. Owns all data to which the movers point.
class Combiner {
 public:
  explicit Combiner(Device device) : device_(device), lists_(device) {}
  std::vector<Combined> movers(const std::vector<Contributor>& contributors);

 private:
  using Ordered = std::vector<const Contributor*>;  // contributions to the same values, sorted by source block
  void boxes(const Ordered& all, std::vector<Combined>& out);
  void lists(const Ordered& all, std::vector<Combined>& out);
  /// Appends a mover (one copy of a launch) that combines the given contributions with the target's own values.
  void add(Mover mover, const Ordered& from, const std::vector<Contribution>& contributions,
           std::vector<Combined>& out);

  Device device_;
  Lowering lists_;
  std::vector<Contribution> gathered_;  // operands of all sums and maxima, in the order of operations that combine them
  std::deque<Buffer<Contribution>> kept_;
};

}  // namespace slipstream

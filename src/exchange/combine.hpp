#pragma once
// Combines values that several blocks contribute to the same target, in a fixed order.
#include <deque>
#include <vector>

#include "route/ends.hpp"
#include "route/lower.hpp"

namespace slipstream {

/// A received leg and its target.
struct Contributor {
  Arrived arrived;
  Place target;
};

/// Creates movers that combine all contributions to a value with the target's own value, in the order of source block
/// ids. The own value comes at its block's id, before contributions of the same block. Legs of the same messages that
/// only copy are copied. Owns all data to which the movers point.
class Combiner {
 public:
  explicit Combiner(Device device) : device_(device), lists_(device) {}
  std::vector<Mover> movers(const std::vector<Contributor>& contributors);

 private:
  void boxes(const std::vector<const Contributor*>& all, std::vector<Mover>& out);
  void lists(const std::vector<const Contributor*>& all, std::vector<Mover>& out);
  /// Appends a mover and its contributions.
  void add(Mover mover, const std::vector<Contribution>& contributions, std::vector<Mover>& out);

  Device device_;
  Lowering lists_;
  std::vector<Contribution> gathered_;  // of the current call, by mover
  std::deque<Buffer<Contribution>> kept_;
};

}  // namespace slipstream

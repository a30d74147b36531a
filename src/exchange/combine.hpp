#pragma once
// Values that several blocks contribute to one: who adds what to what, in which order.
#include <deque>
#include <vector>

#include "route/ends.hpp"
#include "route/lower.hpp"

namespace slipstream {

/// One leg that arrived, with the place of its target.
struct Contributor {
  Arrived arrived;
  Place target;
};

/// Movers that combine all contributions to each target value with its own, in the order of the source blocks' ids; a
/// block's own value stands at its own id, before what the block sends itself. Legs that copy, which travel in the same
/// messages, are copied. Owns what the movers point to.
class Combiner {
 public:
  explicit Combiner(Device device) : device_(device), lists_(device) {}
  std::vector<Mover> movers(const std::vector<Contributor>& contributors);

 private:
  void boxes(const std::vector<const Contributor*>& all, std::vector<Mover>& out);
  void lists(const std::vector<const Contributor*>& all, std::vector<Mover>& out);
  /// Completes a mover and lists it with its contributions.
  void add(Mover mover, const std::vector<Contribution>& contributions, std::vector<Mover>& out);

  Device device_;
  Lowering lists_;
  std::vector<Contribution> gathered_;  // of the call under way, mover after mover
  std::deque<Buffer<Contribution>> kept_;
};

}  // namespace slipstream

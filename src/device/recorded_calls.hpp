#pragma once
// Cache of recorded graphs for repeated calls.
#include <cstddef>
#include <list>
#include <vector>

#include <slipstream/stream.hpp>

namespace slipstream {

/// LRU cache of graphs, keyed by the call's arguments. A call is recorded the second time it is seen. If callers
/// alternate among more than `most` calls, none is recorded: each is evicted before it returns.
template <class Call, std::size_t most = 16>
class RecordedCalls {
 public:
  /// The graphs of a call, one per device; null the first time. `record` creates them. `forget` is called before graphs
  /// are destroyed that may still run.
  template <class Record, class Forget>
  const std::vector<Graph>* find(const Call& call, const Record& record, const Forget& forget) {
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
      if (kept->call != call) continue;
      kept_.splice(kept_.begin(), kept_, kept);
      if (kept->graphs.empty()) kept->graphs = record();
      return &kept->graphs;
    }
    if (kept_.size() == most) {
      if (!kept_.back().graphs.empty()) forget();
      kept_.pop_back();
    }
    kept_.push_front({call, {}});
    return nullptr;
  }

 private:
  struct Kept {
    Call call;
    std::vector<Graph> graphs;
  };
  std::list<Kept> kept_;  // calls in the order of their last use, the most recent first
};

}  // namespace slipstream

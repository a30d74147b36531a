#pragma once
// Graphs of calls that come again.
#include <cstddef>
#include <list>
#include <vector>

#include <slipstream/stream.hpp>

namespace slipstream {

/// Calls of late, by what they are called with; one that comes again has a graph for each device. Where more of them
/// take turns than are kept, none is recorded: it is forgotten before it comes again.
template <class Call, std::size_t most = 16>
class RecordedCalls {
 public:
  /// Null at the first time. `record` makes the graphs; `forget` is called before some of them go that may still run.
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
  std::list<Kept> kept_;  // the last one first
};

}  // namespace slipstream

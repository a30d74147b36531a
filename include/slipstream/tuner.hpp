#pragma once
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>

namespace slipstream {

struct TuneOptions {
  bool retune = false;       ///< measure again, whatever the cache holds
  std::string cache_folder;  ///< empty: $XDG_CACHE_HOME/slipstream, else ~/.cache/slipstream
  int warm_ups = 2;          ///< exchanges before those that count
  int trials = 8;            ///< the fastest counts
  double drop_factor = 3;    ///< a candidate that is so much slower than the best on every pair gets one trial only
};

/// What was found, and how.
struct Tuning {
  ExchangeOptions options;  ///< with `chosen`, `reasons` and `knobs` filled
  std::string source;       ///< "measured", "cache", or "rules" where there was nothing to measure
  std::string file;         ///< of the cache; empty where there is none
  double seconds = 0;
  std::vector<std::string> notes;  ///< candidates that refused or timed out, caches not read; on rank 0
};

/// Measures the routes that the options allow, with the exchange's own messages, and keeps for each pair of devices
/// the fastest, but no mixture that is slower as a whole than one route for all. Remembered on disk by machine, version
/// and shape. Runs exchanges of the fields: their ghosts are overwritten. Patterns that combine values are not
/// measured, because an exchange would change what it sums: they follow the rules. Collective; rank 0 decides. Throws
/// Error on all ranks where they do not all tune the same exchange with as many trials.
Tuning tune(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
            const ExchangeOptions& options, const TuneOptions& how = {});

inline ExchangeOptions tuned(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
                             const ExchangeOptions& options, const TuneOptions& how = {}) {
  return tune(comm, grid, items, options, how).options;
}

/// Where tuned choices lie: $XDG_CACHE_HOME/slipstream, else ~/.cache/slipstream; empty where neither is known.
std::string tuner_cache_folder();

}  // namespace slipstream

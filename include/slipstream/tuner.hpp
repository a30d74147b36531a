#pragma once
#include <functional>
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
  /// What exchanges are overlapped with, as a step of the interior. Each exchange that is measured is begun, this
  /// queues the same work each time, on one stream for each of this rank's devices, and it is ended: the time of the
  /// whole decides, from a common start to the end of the exchange and the work. Called on all ranks equally often. It
  /// may not touch the exchange's fields but as between begin() and end(). Empty: exchanges are measured alone.
  std::function<void(std::vector<Stream>&)> work = {};
  std::string work_name = {};  ///< with work: what choices are remembered by; the same on all ranks
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
/// Error on all ranks where they do not all tune the same exchange beside the same work with as many trials. A
/// candidate beside which the work fails is dropped, as one that fails itself.
Tuning tune(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
            const ExchangeOptions& options, const TuneOptions& how = {});

inline ExchangeOptions tuned(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
                             const ExchangeOptions& options, const TuneOptions& how = {}) {
  return tune(comm, grid, items, options, how).options;
}

/// Codings of a type whose error, over the largest magnitude of a block, is at most this; without raw. Throws Error
/// where the error is not above 0 and finite.
std::vector<Coding> codings_that_keep(DType type, double max_error);

struct CodingChoice {
  std::vector<ExchangeItem> items;  ///< as given, none of the coding `automatic`
  std::string reason;               ///< what was chosen, and the times that decided
};
/// Measures codings for items of the coding `automatic`, by exchanges of the fields as they are: their ghosts are
/// overwritten. An item takes raw, unless it has a max error and a coding that keeps it is faster. A coding that cannot
/// hold some value is not taken. Collective. Throws Error for patterns that combine values.
CodingChoice choose_codings(const Communicator& comm, const Grid& grid, std::vector<ExchangeItem> items,
                            const ExchangeOptions& options);

/// Where tuned choices lie: $XDG_CACHE_HOME/slipstream, else ~/.cache/slipstream; empty where neither is known.
std::string tuner_cache_folder();

}  // namespace slipstream

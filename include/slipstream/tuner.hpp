#pragma once
#include <functional>
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>

namespace slipstream {

struct TuneOptions {
  bool retune = false;       ///< whether to measure routes again, and ignore cached results
  std::string cache_folder;  ///< folder of cached results; empty: $XDG_CACHE_HOME/slipstream or ~/.cache/slipstream
  int warm_ups = 2;          ///< number of exchanges before the timed ones
  int trials = 8;            ///< number of timed exchanges, of which the fastest counts
  double drop_factor = 3;    ///< routes slower than the best by this factor on every pair of devices get one trial only
  /// Work that exchanges overlap with, such as the interior of a step. For each measurement the exchange is begun,
  /// `work` queues the same work, and the exchange is ended. `work` gets one stream for each of this rank's devices.
  /// The tuner compares the total time, from a common start to the end of the exchange and the work. Called equally
  /// often on all ranks. It may use the exchange's fields only as between begin() and end(). Empty: exchanges are
  /// measured alone.
  std::function<void(std::vector<Stream>&)> work = {};
  std::string work_name = {};  ///< name of the overlapped `work` for cached results, the same on all ranks
};

/// Message routes and options that the tuner chose for an exchange, and how it found them.
struct Tuning {
  ExchangeOptions options;  ///< the given options, with the chosen routes, their reasons and settings filled in
  std::string source;       ///< origin of the choice: "measured", "cache", or "rules" if nothing could be measured
  std::string file;         ///< file of the tuner's cache; empty where there is none
  double seconds = 0;
  std::vector<std::string> notes;  ///< notes on candidates that refused or timed out, and on caches not read; on rank 0
};

/// Measures the message routes that the options allow, in exchanges of the fields, which overwrite their ghost cells.
/// Keeps the fastest route for each pair of devices, unless one route for all makes the whole exchange faster. Results
/// are cached on disk by machine, version and shape. If an exchange combines received values with those of fields,
/// fields of zeros are measured in their place; without memory for these, routes are taken by default, unmeasured.
/// Collective; rank 0 decides. Throws Error on all ranks if their exchanges, overlapped work (TuneOptions::work) or
/// numbers of trials differ. A route whose trial fails, or in whose trial that work fails, is dropped.
Tuning tune(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
            const ExchangeOptions& options, const TuneOptions& how = {});

inline ExchangeOptions tuned(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
                             const ExchangeOptions& options, const TuneOptions& how = {}) {
  return tune(comm, grid, items, options, how).options;
}

/// Lossy codings of sent values whose error, relative to the largest magnitude in a block of values, is at most
/// `max_error`. Throws Error unless max_error is above 0 and finite.
std::vector<Coding> codings_that_keep(DType type, double max_error);

struct CodingChoice {
  std::vector<ExchangeItem> items;  ///< items of the exchange, with the chosen codings in place of `automatic`
  std::string reason;               ///< why these codings were chosen, with the measured times
};
/// Measures codings for items with the coding `automatic`, by exchanges of the current fields, which overwrite their
/// ghosts. An item takes raw, unless it has a max error and a coding within it is faster. A coding in which some value
/// overflows is not taken. Collective. Throws Error for patterns that combine values.
CodingChoice choose_codings(const Communicator& comm, const Grid& grid, std::vector<ExchangeItem> items,
                            const ExchangeOptions& options);

/// Folder of the tuner's cache: $XDG_CACHE_HOME/slipstream, else ~/.cache/slipstream; empty where neither is known.
std::string tuner_cache_folder();

}  // namespace slipstream

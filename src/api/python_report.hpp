#pragma once
#include <optional>

#include <slipstream/trace.hpp>
#include <slipstream/tuner.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {

nb::list report_list(const std::vector<ReportRow>& rows);
nb::dict tuning_dict(const Tuning& tuning);
/// Names of routes as a case file gives them: "direct", "+direct", "-staged", or several of them with commas.
std::vector<RouteKind> routes_from(const std::vector<std::string>& names);
/// Writes FOLDER/rank<r>.json. Collective.
void write_trace(const Communicator& comm, Trace& trace, const std::string& folder);

/// The options of an exchange that say whether it is measured, and recorded.
struct Watched {
  std::optional<TuneOptions> tune;
  bool trace = false;
};

/// Reads `tune` ("rules" or "measure"), `retune`, `tuner_cache` and `trace`.
template <class Reader>
Watched read_watched(Reader& reader) {
  Watched watched;
  std::string tune = "rules";
  TuneOptions how;
  reader.read("tune", tune);
  reader.read("retune", how.retune);
  reader.read("tuner_cache", how.cache_folder);
  reader.read("trace", watched.trace);
  require(tune == "rules" || tune == "measure", "tune is '" + tune + "': choose rules or measure");
  if (tune == "measure" || how.retune) watched.tune = how;
  return watched;
}

}  // namespace slipstream::python

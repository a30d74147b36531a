#pragma once
#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>

#include <functional>
#include <optional>

#include <slipstream/arena_report.hpp>
#include <slipstream/trace.hpp>
#include <slipstream/tuner.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {

nb::list report_list(const std::vector<ReportRow>& rows);
nb::list arena_list(const std::vector<ArenaRow>& rows);
nb::dict tuning_dict(const Tuning& tuning);
/// Reads names of routes as in a case file: "direct", "+direct", "-staged", or several of them with commas.
std::vector<RouteKind> routes_from(const std::vector<std::string>& names);
/// Writes a trace to FOLDER/rank<r>.json. Collective.
void write_trace(const Communicator& comm, Trace& trace, const std::string& folder);

/// Reads tuning parameters of an exchange, such as `pack`, `streams` and `chunk`, from a dict of options.
template <class Reader>
void read_knobs(Reader& reader, Knobs& knobs) {
  std::string pack = to_string(knobs.pack), streams = to_string(knobs.streams), grouping = to_string(knobs.grouping);
  std::string mpi = to_string(knobs.mpi);
  reader.read("pack", pack);
  reader.read("streams", streams);
  reader.read("grouping", grouping);
  reader.read("mpi", mpi);
  reader.read("sync", knobs.sync);
  reader.read("teams", knobs.teams);
  reader.read("in_place", knobs.in_place);
  reader.read("packet_limit", knobs.packet_limit);
  reader.read("chunk", knobs.chunk);
  reader.read("ring", knobs.ring);
  knobs.pack = pack_from_string(pack);
  knobs.streams = lanes_from_string(streams);
  knobs.grouping = grouping_from_string(grouping);
  knobs.mpi = mpi_calls_from_string(mpi);
}

/// Options that say whether an exchange is measured, and recorded in a trace.
struct Watched {
  std::optional<TuneOptions> tune;
  std::string tuner_cache;
  bool trace = false;
};

/// Reads the options `tune` ("rules" or "measure"), `retune`, `tune_with` (name and work), `tuner_cache` and `trace`.
template <class Reader>
Watched read_watched(Reader& reader) {
  Watched watched;
  std::string tune = "rules";
  TuneOptions how;
  reader.read("tune", tune);
  reader.read("retune", how.retune);
  std::pair<std::string, std::function<void(const std::vector<std::uintptr_t>&)>> work;
  reader.read("tune_with", work);
  reader.read("tuner_cache", watched.tuner_cache);
  how.cache_folder = watched.tuner_cache;
  reader.read("trace", watched.trace);
  require(tune == "rules" || tune == "measure", "tune is '" + tune + "': choose rules or measure",
          {{"option", "tune"}, {"given", tune}});
  if (work.second) {
    require(tune == "measure" || how.retune, ErrorCode::unsupported,
            "tune_with is work to measure with: it needs tune = 'measure'", {{"option", "tune_with"}});
    how.work_name = work.first;
    how.work = [call = std::move(work.second)](std::vector<Stream>& streams) {
      std::vector<std::uintptr_t> natives;
      for (const Stream& stream : streams) natives.push_back(reinterpret_cast<std::uintptr_t>(stream.native()));
      call(natives);
    };
  }
  if (tune == "measure" || how.retune) watched.tune = how;
  return watched;
}

/// Reads an exchange's options from a dictionary. `watched` gets those of tuning and trace; if null, none is allowed.
ExchangeOptions exchange_options(const nb::dict& dict, Watched* watched);

}  // namespace slipstream::python

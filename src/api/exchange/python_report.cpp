// Bindings for an exchange's routes, times, tuning and trace.
#include <cstdio>
#include <fstream>

#include <slipstream/error.hpp>

#include "api/exchange/python_report.hpp"

namespace slipstream::python {

nb::list message_list(const std::vector<MessageInfo>& messages) {
  nb::list all;
  for (const MessageInfo& message : messages) {
    nb::dict entry;
    entry["source"] = message.source;
    entry["target"] = message.target;
    entry["route"] = to_string(message.route);
    entry["reason"] = message.reason;
    entry["bytes"] = message.bytes;
    entry["transfers"] = message.transfers;
    entry["raw_bytes"] = message.raw_bytes;
    all.append(entry);
  }
  return all;
}

nb::list report_list(const std::vector<ReportRow>& rows) {
  nb::list all;
  for (const ReportRow& row : rows) {
    nb::dict entry;
    entry["source"] = row.message.source;
    entry["target"] = row.message.target;
    entry["source_rank"] = row.source_rank;
    entry["target_rank"] = row.target_rank;
    entry["route"] = to_string(row.message.route);
    entry["reason"] = row.message.reason;
    entry["bytes"] = row.message.bytes;
    entry["transfers"] = row.message.transfers;
    entry["raw_bytes"] = row.message.raw_bytes;
    const auto known = [](double value) { return value < 0 ? nb::object(nb::none()) : nb::object(nb::float_(value)); };
    entry["time_us"] = known(row.microseconds);
    entry["gbs"] = known(row.gb_per_s);
    entry["percent_of_link"] = known(row.percent);
    entry["largest_error"] = known(row.largest_error);
    entry["rms_error"] = known(row.rms_error);
    entry["encode_us"] = known(row.encode_us);
    entry["decode_us"] = known(row.decode_us);
    all.append(entry);
  }
  return all;
}

nb::list arena_list(const std::vector<ArenaRow>& rows) {
  nb::list all;
  for (const ArenaRow& row : rows) {
    nb::dict entry;
    entry["device"] = row.device;
    entry["bytes"] = row.on_device.bytes;
    entry["used"] = row.on_device.used;
    entry["host_bytes"] = row.on_host.bytes;
    entry["host_used"] = row.on_host.used;
    all.append(entry);
  }
  return all;
}

nb::dict tuning_dict(const Tuning& tuning) {
  nb::dict d = source_of(tuning);
  const Knobs& k = tuning.options.knobs;
  nb::dict knobs;
  knobs["pack"] = to_string(k.pack);
  knobs["streams"] = to_string(k.streams);
  knobs["grouping"] = to_string(k.grouping);
  knobs["mpi"] = to_string(k.mpi);
  knobs["sync"] = k.sync;
  knobs["teams"] = k.teams;
  knobs["in_place"] = k.in_place;
  knobs["packet_limit"] = k.packet_limit;
  knobs["chunk"] = k.chunk;
  knobs["ring"] = k.ring;
  d["knobs"] = knobs;
  return d;
}

void write_trace(const Communicator& comm, Trace& trace, const std::string& folder) {
  const DecimalPoint point;
  // Times count from rank 0's start; clocks of nodes are assumed to agree to some microseconds.
  char epoch[40];
  std::snprintf(epoch, sizeof epoch, "%.3f", trace.system_epoch_us());
  const std::string text = trace.json(comm.rank(), std::stod(comm.broadcast(epoch, 0)));
  const std::string file = folder + "/rank" + std::to_string(comm.rank()) + ".json";
  std::ofstream out(file);
  out << text << std::flush;
  require(out.good(), ErrorCode::io, "the trace cannot be written to " + file, {{"file", file}});
}

}  // namespace slipstream::python

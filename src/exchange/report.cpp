// What the messages of the last exchange took, gathered from all ranks.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "exchange/coding_times.hpp"
#include "exchange/impl.hpp"
#include "machine/agree.hpp"
#include "machine/records.hpp"

namespace slipstream {
namespace {

/// One line a message, the reason last because it holds spaces.
std::string written(const ReportRow& row) {
  std::ostringstream text;
  const MessageInfo& m = row.message;
  text << m.source << ' ' << m.target << ' ' << to_string(m.route) << ' ' << m.bytes << ' ' << m.transfers << ' '
       << m.raw_bytes << ' ' << row.microseconds << ' ' << m.reason << '\n';
  return text.str();
}

ReportRow read(const std::string& line) {
  ReportRow row;
  std::string route;
  std::istringstream text(line);
  MessageInfo& m = row.message;
  text >> m.source >> m.target >> route >> m.bytes >> m.transfers >> m.raw_bytes >> row.microseconds;
  text.get();
  std::getline(text, m.reason);
  m.route = route_from_string(route);
  return row;
}

/// The sender of a message knows the errors and the times of its coding.
struct Measured {
  std::int64_t source = 0, target = 0;
  ErrorSums sums;
  CodingTimes times;
};

void rate(ReportRow& row, const Machine& machine) {
  const MachineDevice& target = machine.device(row.message.target);
  row.source_rank = machine.device(row.message.source).rank;
  row.target_rank = target.rank;
  if (row.microseconds <= 0) return;
  row.gb_per_s = static_cast<double>(row.message.bytes) / row.microseconds / 1e3;
  const bool within = row.message.source == row.message.target;
  // Memory's rate counts what is read and what is written.
  const double whole =
      within ? target.memory_gb_per_s / 2 : machine.link(row.message.source, row.message.target).gb_per_s;
  if (whole > 0) row.percent = 100 * row.gb_per_s / whole;
}

}  // namespace

std::vector<ReportRow> Exchange::report() {
  const Machine& machine = impl_->grid.machine();
  std::vector<double> times(messages().size(), -1);
  on_all_ranks(impl_->comm, "an exchange cannot be reported", [&] {
    if (sequence()) times = arrival_us();
  });
  impl_->check();
  std::string mine, errors;
  on_all_ranks(impl_->comm, "the errors of codings cannot be reported", [&] {
    for (const auto& side : impl_->sides)
      for (const auto& [sender, probe] : side->probes) {
        if (!sequence()) continue;
        const Message& message = impl_->channels[side->sent[sender]].message;
        Measured measured{message.source, message.target, probe.sums(), {}};
        if (const auto found = side->encoders.find(sender); found != side->encoders.end())
          measured.times = time_coding(side->device, found->second, side->arrays);
        append_record(errors, measured);
      }
  });
  for (std::size_t m = 0; m < messages().size(); ++m)
    // Who receives a message knows its time.
    if (impl_->local(messages()[m].target)) {
      ReportRow row;
      row.message = messages()[m];
      row.microseconds = times[m];
      mine += written(row);
    }
  std::vector<ReportRow> rows;
  for (const std::string& text : impl_->comm.all_gather(mine)) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      rows.push_back(read(line));
      rate(rows.back(), machine);
    }
  }
  if (impl_->options.measure_errors)
    for (const Measured& measured : records_of<Measured>(impl_->comm.all_gather(errors)))
      for (ReportRow& row : rows) {
        if (row.message.source != measured.source || row.message.target != measured.target) continue;
        row.encode_us = measured.times.encode_us;
        row.decode_us = measured.times.decode_us;
        if (!measured.sums.numbers) continue;
        row.largest_error = measured.sums.largest;
        row.rms_error = std::sqrt(measured.sums.squares / static_cast<double>(measured.sums.numbers));
      }
  std::sort(rows.begin(), rows.end(), [](const ReportRow& a, const ReportRow& b) {
    return std::pair(a.message.source, a.message.target) < std::pair(b.message.source, b.message.target);
  });
  return rows;
}

}  // namespace slipstream

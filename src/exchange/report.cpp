// Report of the last exchange's messages, gathered from all ranks.
#include <algorithm>
#include <cmath>

#include "exchange/impl.hpp"
#include "machine/agree.hpp"
#include "machine/records.hpp"

namespace slipstream {
namespace {

void rate(ReportRow& row, const Machine& machine) {
  const MachineDevice& target = machine.device(row.message.target);
  row.source_rank = machine.device(row.message.source).rank;
  row.target_rank = target.rank;
  if (row.microseconds <= 0) return;
  row.gb_per_s = static_cast<double>(row.message.bytes) / row.microseconds / 1e3;
  const bool within = row.message.source == row.message.target;
  // The memory bandwidth counts reads and writes, so a local copy counts its bytes twice.
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
  check();
  std::string mine, errors;
  on_all_ranks(impl_->comm, "the errors of codings cannot be reported", [&] {
    for (const auto& each : impl_->launches)
      for (const MeasuredCoding& measured : each->measured_codings())
        if (sequence()) append_record(errors, measured);
  });
  for (std::size_t n = 0; n < messages().size(); ++n)
    // The receiving rank measures a message's time.
    if (const MessageInfo& m = messages()[n]; impl_->plan->local(m.target))
      append_parts(mine, m.source, m.target, m.route, m.bytes, m.transfers, m.raw_bytes, m.reason, times[n]);
  std::vector<ReportRow> rows;
  for (const std::string& text : impl_->comm.all_gather(mine)) {
    PartsReader parts(text);
    while (!parts.over()) {
      ReportRow& row = rows.emplace_back();
      MessageInfo& m = row.message;
      parts.read(m.source, m.target, m.route, m.bytes, m.transfers, m.raw_bytes, m.reason, row.microseconds);
      rate(row, machine);
    }
  }
  if (impl_->plan->options.measure_errors)
    for (const MeasuredCoding& measured : records_of<MeasuredCoding>(impl_->comm.all_gather(errors)))
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

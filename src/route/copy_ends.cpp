#include "route/copy_ends.hpp"

#include <slipstream/trace.hpp>

#include "device/faults.hpp"
#include "mover/program.hpp"

namespace slipstream {

CopySender::CopySender(const Message& message, const EndSite& site)
    : message_(message),
      lowering_(site.device),
      receive_buffer_(site.receive_buffer),
      pulse_(site.pulse),
      trace_(site.trace),
      row_("to device " + std::to_string(message.target)),
      packed_(site.arena.take<std::byte>(message.bytes)),
      packed_event_(site.device),
      sent_(site.device) {
  if (message.knobs.streams == Lanes::per_direction) lane_ = std::make_unique<Stream>(site.device, Priority::high);
  Batch batch;
  batch.movers = lowering_.to_slot(site.legs, site.sources, {packed_.data(), {}});
  windows = lowering_.windows();
  batch.before.push_back({site.receive_buffer.free.front(), 1, message.target});
  batches.push_back(std::move(batch));
}

void CopySender::transfer(Stream& stream, std::uint64_t) {
  Stream& lane = lane_ ? *lane_ : stream;
  if (lane_) {
    stream.record(packed_event_);
    lane.wait(packed_event_);
  }
  const DeviceSpan span(trace_, lane, row_, "copy", "copy");
  faults::reach(faults::Lane::departure, lane);
  // If the wait for the slot has timed out, nothing was packed. The copy then writes the bytes that the slot holds
  // already.
  copy(lane, receive_buffer_.slot, packed_.data(), message_.bytes);
  post(lane, receive_buffer_.full.front(), pulse_);
  if (lane_) lane.record(sent_);
}

void CopySender::join(Stream& stream) {
  if (lane_) stream.wait(sent_);
}

CopyReceiver::CopyReceiver(const Message& message, const EndSite& site)
    : lowering_(site.device), slot_(site.receive_buffer.slot), slot_bytes_(message.bytes) {
  std::byte* const values = site.receive_buffer.slot;
  Batch batch;
  batch.before.push_back({site.receive_buffer.full.front(), 0, message.source});
  batch.after.push_back(site.receive_buffer.free.front());
  if (message.combines) {
    arrived = arrived_at(site.legs, values);
  } else {
    batch.movers = lowering_.from_slot(site.legs, site.targets, {values, {}});
  }
  batches.push_back(std::move(batch));
}

/// Whether a test delays arrived messages at this point; false without tests.
bool CopyReceiver::delivers() const { return faults::held(faults::Lane::arrival); }
void CopyReceiver::deliver(Stream& stream, std::uint64_t) { faults::reach(faults::Lane::arrival, stream); }

RouteFacts CopyRoute::facts() const {
  return {.repeated = "no: the copy engine's work is recorded for two exchanges in turn",
          .work_in_begin = "queues kernels and copies",
          .holds = "one thread block"};
}

}  // namespace slipstream

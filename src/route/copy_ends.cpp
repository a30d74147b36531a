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
  batches.push_back({.movers = lowering_.to_slot(site.legs, site.sources, {packed_.data(), {}}),
                     .before = {{site.receive_buffer.free.front(), 1, message.target}}});
  windows = lowering_.windows();
}

void CopySender::transfer(Stream& stream, std::uint64_t) {
  Stream& lane = lane_ ? *lane_ : stream;
  if (lane_) {
    stream.record(packed_event_);
    lane.wait(packed_event_);
  }
  const DeviceSpan span(trace_, lane, row_, "copy", "copy");
  faults::reach(faults::Lane::departure, lane);
  // If the wait for a free receive buffer has timed out, nothing was packed. The copy then writes the old values that
  // the buffer holds already.
  copy(lane, receive_buffer_.slot, packed_.data(), message_.bytes);
  post(lane, receive_buffer_.full.front(), pulse_);
  if (lane_) lane.record(sent_);
}

void CopySender::join(Stream& stream) {
  if (lane_) stream.wait(sent_);
}

CopyReceiver::CopyReceiver(const Message& message, const EndSite& site)
    : lowering_(site.device), slot_(site.receive_buffer.slot), bytes_(message.bytes) {
  batches.push_back({.movers = lowering_.unpack(message, site.legs, site.targets, {slot_, {}}, arrived),
                     .before = {{site.receive_buffer.full.front(), 0, message.source}},
                     .after = {site.receive_buffer.free.front()}});
}

/// Whether a test delays arrived messages at this point; false without tests.
bool CopyReceiver::delivers() const { return faults::held(faults::Lane::arrival); }
void CopyReceiver::deliver(Stream& stream, std::uint64_t) { faults::reach(faults::Lane::arrival, stream); }

CopyRoute::CopyRoute(RouteKind kind, const char* name, RouteTraits traits, RouteFacts facts)
    : RouteOf(kind, name, traits, [&] {
        facts.repeated = "no: the copy engine's work is recorded for two exchanges in turn";
        facts.work_in_begin = "queues kernels and copies";
        facts.holds = "one thread block";
        return std::move(facts);
      }()) {}

}  // namespace slipstream

#include "route/store_ends.hpp"

#include <algorithm>

namespace slipstream {
namespace {

// Message size in bytes below which packing into receive buffers and unpacking costs less than the handshake for stores
// into ghost cells.
constexpr std::size_t small_message = 4 << 20;
// Row length in bytes below which rows fill their 32-byte sectors badly and reach a quarter of the link's bandwidth.
constexpr std::size_t short_row = 128;
// Largest message in packets, in bytes. Packets save a fence and a counter, some microseconds, but send 1/31 more.
constexpr std::size_t most_in_packets = 2 << 20;
constexpr std::size_t largest_in_packets = 1 << 30;  // limit of a message in bytes: 32-bit numbers count its words
constexpr std::size_t smallest_chunk = 1 << 18;
constexpr std::size_t most_chunks = 48;

std::size_t least_row_in_place(const Message& m, const Leg& leg) {
  // Coded values are packed, because stores in place would send them uncoded.
  if (leg.coded()) return SIZE_MAX;
  if (m.poison && !leg.produced) return SIZE_MAX;
  if (m.through_slots() || !m.in_place_ok || (leg.rebinds && m.source_rank != m.target_rank)) return SIZE_MAX;
  if (m.knobs.in_place >= 0) return static_cast<std::size_t>(m.knobs.in_place);
  // The caller's kernels always store in place: computing takes longer than the handshake, and values are stored once.
  if (leg.produced) return 0;
  return m.answered && m.bytes < small_message ? SIZE_MAX : short_row;
}

/// Size of a message in latency-optimised packets; 0 if it does not travel in packets.
std::size_t bytes_in_packets(const Message& m, const std::vector<Leg>& legs) {
  const std::size_t most = m.knobs.packet_limit >= 0 ? static_cast<std::size_t>(m.knobs.packet_limit) : most_in_packets;
  if (m.through_slots() || m.produced || !m.answered || !m.whole_lines || m.bytes > std::min(most, largest_in_packets))
    return 0;
  if (!std::all_of(legs.begin(), legs.end(), fits_packets)) return 0;
  std::size_t bytes = 0;
  for (const Leg& leg : legs) bytes += packet_bytes(leg);
  return round_up(bytes, slot_alignment);
}

std::size_t chunk_limit(const Message& m, std::size_t packed) {
  // The message is not cut into parts if its values are combined in order, or must all be writable at the same time.
  if (m.at_once()) return SIZE_MAX / 2;
  const std::size_t least = (packed + most_chunks - 1) / most_chunks;
  if (m.knobs.chunk > 0) return std::max(static_cast<std::size_t>(m.knobs.chunk), least);
  return std::max(smallest_chunk, least);
}

Slot slot_of(const StorePlan& plan, std::byte* base, int chunk) {
  const int chunks = static_cast<int>(plan.cut->chunks.size());
  const auto bytes = static_cast<std::int64_t>(plan.cut->slot_bytes);
  if (plan.depth == chunks) return {base + chunk * bytes, {}};
  return {base, {bytes, plan.depth, chunks, chunk}};
}

Slot slot_of_packets(const StorePlan& plan, std::byte* base) {
  return {base, {static_cast<std::int64_t>(plan.packet_bytes), plan.depth, 1, 0}};
}

/// Previous content of a receive buffer: the chunk of the message that it held, and how many exchanges ago.
struct Before {
  int chunk = 0, lag = 0;
};
Before before(int chunk, int chunks, int depth) {
  const int lag = depth > chunk ? (depth - chunk + chunks - 1) / chunks : 0;
  return {chunk - depth + lag * chunks, lag};
}

}  // namespace

StorePlan store_plan(const Message& message, const std::vector<Leg>& legs) {
  StorePlan plan;
  plan.packet_bytes = bytes_in_packets(message, legs);
  if (plan.packet_bytes) {
    plan.depth = 2;
    plan.cut = std::make_shared<const Cut>();
    return plan;
  }
  std::size_t packed = 0;
  for (std::size_t l = 0; l < legs.size(); ++l) {
    if (row_bytes(legs[l]) >= least_row_in_place(message, legs[l])) {
      plan.in_place.push_back(l);
      continue;
    }
    plan.packed.push_back(legs[l]);
    plan.packed_parent.push_back(l);
    packed += legs[l].bytes();
  }
  plan.cut = cut(plan.packed, chunk_limit(message, packed));
  const auto chunks = static_cast<int>(plan.cut->chunks.size());
  if (chunks == 0) return plan;
  const auto room = static_cast<std::int64_t>(message.knobs.ring / static_cast<std::int64_t>(plan.cut->slot_bytes));
  if (message.at_once()) {
    plan.depth = chunks;
  } else if (room >= 2 * chunks) {
    // No sender waits: the target's last message proves that it had emptied the receive buffers of the exchange before.
    plan.depth = 2 * chunks;
    plan.freed = !message.answered;
  } else {
    plan.depth = static_cast<int>(std::clamp<std::int64_t>(room, 2, 2 * chunks));
    if (plan.depth == chunks) ++plan.depth;  // as many buffers as message chunks would mean fixed buffers, not a ring
  }
  return plan;
}

SlotNeed store_need(const Message& message, const std::vector<Leg>& legs) {
  const StorePlan plan = store_plan(message, legs);
  if (plan.packet_bytes) return {plan.packet_bytes, plan.depth, 0, false};
  return {plan.cut->slot_bytes, plan.depth, static_cast<int>(plan.cut->chunks.size()), !plan.in_place.empty()};
}

StoreSender::StoreSender(const Message& message, const EndSite& site) : lowering_(site.device) {
  const StorePlan plan = store_plan(message, site.legs);
  if (plan.packet_bytes) {
    const Slot slot = slot_of_packets(plan, site.receive_buffer.slot);
    batches.push_back(
        {.movers = lowering_.to_packets(site.legs, site.sources, slot), .in_packets = true, .peer = message.target});
    return;
  }
  const int chunks = static_cast<int>(plan.cut->chunks.size());
  for (int c = 0; c < chunks; ++c) {
    const Chunk& chunk = plan.cut->chunks[c];
    Batch batch;
    batch.movers = lowering_.to_slot(chunk.legs, chosen(chunk.parent, chosen(plan.packed_parent, site.sources)),
                                     slot_of(plan, site.receive_buffer.slot, c));
    const Before last = before(c, chunks, plan.depth);
    if (plan.freed) batch.before.push_back({site.receive_buffer.free.at(last.chunk), last.lag, message.target});
    batch.late = last.lag == 0;
    batch.after.push_back(site.receive_buffer.full.at(c));
    batch.round = c;
    batches.push_back(std::move(batch));
  }
  if (!plan.in_place.empty())
    batches.push_back(
        {.movers = lowering_.box_to_box(chosen(plan.in_place, site.legs), chosen(plan.in_place, site.sources),
                                        chosen(plan.in_place, site.targets)),
         .before = {{site.receive_buffer.ready, 0, message.target, true}},
         .after = {site.receive_buffer.delivered}});
  windows = lowering_.windows();
}

StoreReceiver::StoreReceiver(const Message& message, const EndSite& site)
    : lowering_(site.device), plan_(store_plan(message, site.legs)), slot_(site.receive_buffer.slot) {
  if (plan_.packet_bytes) {
    const Slot slot = slot_of_packets(plan_, slot_);
    batches.push_back(
        {.movers = lowering_.from_packets(site.legs, site.targets, slot), .in_packets = true, .peer = message.source});
    return;
  }
  const int chunks = static_cast<int>(plan_.cut->chunks.size());
  for (int c = 0; c < chunks; ++c) {
    const Chunk& chunk = plan_.cut->chunks[c];
    Batch batch;
    batch.before.push_back({site.receive_buffer.full.at(c), 0, message.source});
    if (plan_.freed) batch.after.push_back(site.receive_buffer.free.at(c));
    batch.round = c;
    batch.movers =
        lowering_.unpack(message, chunk.legs, chosen(chunk.parent, chosen(plan_.packed_parent, site.targets)),
                         slot_of(plan_, slot_, c), arrived);
    batches.push_back(std::move(batch));
  }
  if (plan_.in_place.empty()) return;
  opened.push_back(site.receive_buffer.ready);
  batches.push_back({.before = {{site.receive_buffer.delivered, 0, message.source}}, .round = chunks});
}

/// Debug mode: fills the receive buffer with NaN. Packets need none: their numbers show whether they have arrived.
void StoreReceiver::poison(Stream& stream) {
  if (!plan_.packet_bytes && slot_)
    fill(stream, slot_, poison_byte, plan_.cut->slot_bytes * static_cast<std::size_t>(plan_.depth));
}

}  // namespace slipstream

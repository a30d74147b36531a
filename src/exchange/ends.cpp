// The two ends of every message, and the launches that run them.
#include <algorithm>

#include <slipstream/error.hpp>

#include "exchange/impl.hpp"
#include "exchange/schedule.hpp"
#include "route/coded_movers.hpp"

namespace slipstream {
namespace {

/// Of begin and end, whose caller computes meanwhile: a team on every second multiprocessor leaves most of a device to
/// it; where a number is asked for, at most one on each. 0, all, on the host.
int teams_beside(Device device, int asked, int users) {
  if (device.backend == Backend::host) return asked;
  const int processors = info(device).processors / users;
  return std::max(1, asked > 0 ? std::min(asked, processors) : processors / 2);
}

/// Devices of the machine that are this one: another rank's, too.
int users_of(const Machine& machine, int device) {
  const std::string& uuid = machine.device(device).uuid;
  if (uuid.empty()) return 1;
  int users = 0;
  for (int other = 0; other < machine.devices(); ++other) users += machine.device(other).uuid == uuid;
  return users;
}

}  // namespace

SendSite Exchange::Impl::send_site(const Channel& channel, Side& side) {
  SendSite site{.device = side.device, .arena = side.arena};
  site.legs = channel.bundle->legs;
  site.sources = places(channel, ItemEnd::source, side);
  if (channel.need.in_place) site.targets = places(channel, ItemEnd::target, side);
  site.landing = landing_of(channel, side.device);
  site.pulse = pulse(side);
  site.arrays = &side.arrays;
  site.trace = options.trace;
  return site;
}

ReceiveSite Exchange::Impl::receive_site(const Channel& channel, Side& side) {
  ReceiveSite site{.device = side.device, .arena = side.arena};
  site.legs = channel.bundle->legs;
  site.targets = places(channel, ItemEnd::target, side);
  site.landing = landing_of(channel, side.device);
  site.pulse = pulse(side);
  site.arrays = &side.arrays;
  site.trace = options.trace;
  return site;
}

void Exchange::Impl::make_ends() {
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const Channel& channel = channels[c];
    const Route& way = route(channel.choice.route);
    const Message& m = channel.message;
    const char* doing = "packing";
    try {
      if (local(m.source)) {
        Side& side = side_of(m.source);
        side.senders.push_back(way.sender(m, send_site(channel, side)));
        side.sent.push_back(c);
      }
      doing = "unpacking";
      if (local(m.target)) {
        Side& side = side_of(m.target);
        side.receivers.push_back(way.receiver(m, receive_sites.emplace_back(receive_site(channel, side))));
        side.received.push_back(c);
      }
    } catch (const OutOfMemory& error) {
      throw OutOfMemory("no room on rank " + std::to_string(grid.rank()) + " for " + doing + " the message of " +
                            std::to_string(m.bytes) + " B from device " + std::to_string(m.source) + " to device " +
                            std::to_string(m.target) + " by " + to_string(channel.choice.route) + ": " + error.what() +
                            "; fewer ghost layers or quantities in one exchange take less",
                        joined(error.facts(), {{"purpose", doing},
                                               {"rank", grid.rank()},
                                               {"source", m.source},
                                               {"target", m.target},
                                               {"route", to_string(channel.choice.route)}}));
    }
  }
}

/// Waits for the end of batches of the same launch; their counters are kept in `counters`.
std::vector<Wait> Exchange::Impl::waits_for(Side& side, Span<Signal>& counters, const std::vector<Batch*>& batches) {
  counters = side.arena.take<Signal>(std::max<std::size_t>(1, batches.size()) * signal_line);
  fill(side.stream, counters.data(), 0, counters.bytes());
  side.stream.synchronize();
  Signal* counter = counters.data();
  std::vector<Wait> waits;
  for (Batch* batch : batches) {
    batch->after.push_back(counter);
    waits.push_back({counter, 0, side.index});
    counter += signal_line;
  }
  return waits;
}

/// In one launch with the packing, the values that are changed may be those that other teams still pack.
std::vector<Wait> Exchange::Impl::waits_for_packing(Side& side) {
  std::vector<Batch*> packings;
  for (auto& sender : side.senders)
    for (Batch& batch : sender->batches) packings.push_back(&batch);
  return waits_for(side, side.packed, packings);
}

/// Of fields that are moved onto themselves: nothing is unpacked before all is packed.
void Exchange::Impl::unpack_behind_packing(Side& side) {
  const std::vector<Wait> packed = waits_for_packing(side);
  for (auto& receiver : side.receivers)
    for (Batch& batch : receiver->batches) batch.before.insert(batch.before.end(), packed.begin(), packed.end());
}

/// Values that are coded in blocks are decoded into memory, where they are combined as raw ones.
void Exchange::Impl::decode_apart(Side& side) {
  const auto each = [&](const auto& f) {
    for (std::size_t r = 0; r < side.receivers.size(); ++r)
      if (channels[side.received[r]].message.combines)
        for (Arrived& arrived : side.receivers[r]->arrived)
          if (!arrived.leg->wire.by_value()) f(*side.receivers[r], arrived);
  };
  const auto raw = [](const Leg& leg) {
    Leg decoded = leg;
    decoded.wire = Wire::same;
    decoded.block = {};
    return decoded;
  };
  std::size_t bytes = 0;
  each([&](const Receiver&, const Arrived& arrived) { bytes += round_up(raw(*arrived.leg).bytes(), leg_alignment); });
  if (bytes == 0) return;
  side.decodings = side.arena.take<std::byte>(bytes);
  std::byte* to = side.decodings.data();
  each([&](Receiver& receiver, Arrived& arrived) {
    const Leg& decoded = side.decoded_legs.emplace_back(raw(*arrived.leg));
    const auto movers = Lowering::decoding(*arrived.leg, arrived.values, to);
    // All of a combined message is there at once.
    std::vector<Mover>& all = receiver.batches.front().movers;
    all.insert(all.end(), movers.begin(), movers.end());
    arrived = {&decoded, to};
    to += round_up(decoded.bytes(), leg_alignment);
  });
}

/// One batch for everything that is combined on a device: it waits for all messages, and frees all slots.
void Exchange::Impl::combine(Side& side) {
  Batch all;
  std::vector<Contributor> contributors;
  decode_apart(side);
  std::vector<Batch*> decoding;
  for (std::size_t r = 0; r < side.receivers.size(); ++r) {
    Receiver& receiver = *side.receivers[r];
    const Channel& channel = channels[side.received[r]];
    if (!channel.message.combines) continue;
    for (Batch& batch : receiver.batches) {
      all.before.insert(all.before.end(), batch.before.begin(), batch.before.end());
      all.after.insert(all.after.end(), batch.after.begin(), batch.after.end());
      if (!batch.movers.empty()) decoding.push_back(&batch);
    }
    if (decoding.empty() || decoding.back() != &receiver.batches.back()) receiver.batches.clear();
    for (const Arrived& arrived : receiver.arrived)
      contributors.push_back({arrived, place_of(*arrived.leg, ItemEnd::target, side)});
  }
  const std::vector<Wait> packed = waits_for_packing(side);
  all.before.insert(all.before.end(), packed.begin(), packed.end());
  const std::vector<Wait> decoded = waits_for(side, side.decoded, decoding);
  all.before.insert(all.before.end(), decoded.begin(), decoded.end());
  side.combiner = Combiner(side.device);
  all.movers = side.combiner.movers(contributors);
  all.round = 1 << 20;
  side.combining = std::move(all);
}

/// What the side's senders and receivers want done around the launch.
void Exchange::Impl::note_transfers(Side& side) {
  for (const auto& sender : side.senders) side.transfers |= sender->transfers();
  for (const auto& receiver : side.receivers) {
    side.transfers |= receiver->transfers();
    side.delivers |= receiver->delivers();
  }
  transfers |= side.transfers || side.delivers;
}

Schedule Exchange::Impl::schedule_of(const Side& side, const Batch& opening) const {
  Traffic traffic;
  if (!opening.after.empty()) traffic.opening = &opening;
  for (const auto& sender : side.senders)
    for (const Batch& batch : sender->batches) traffic.outgoing.push_back(&batch);
  for (const auto& receiver : side.receivers) {
    traffic.incoming.emplace_back();
    for (const Batch& batch : receiver->batches) traffic.incoming.back().push_back(&batch);
  }
  if (side.combining) traffic.combining = &*side.combining;
  for (std::size_t s = 0; s < side.senders.size(); ++s) {
    const Channel& c = channels[side.sent[s]];
    if (c.choice.route != RouteKind::kernel || c.message.through_slots()) continue;
    const auto own = std::find(side.received.begin(), side.received.end(), side.sent[s]) - side.received.begin();
    for (const Batch& batch : side.senders[s]->batches) traffic.completing[&batch] = static_cast<std::size_t>(own);
  }
  for (const Channel& c : channels) {
    if (c.need.chunks <= c.need.depth || (c.message.target != side.index && c.message.source != side.index)) continue;
    traffic.depth = traffic.depth ? std::min(traffic.depth, c.need.depth) : c.need.depth;
  }
  return Schedule(traffic);
}

/// For what senders encode: values that stay on a device are rounded there, too.
void Exchange::Impl::make_probes(Side& side) {
  for (std::size_t s = 0; s < side.senders.size(); ++s) {
    std::vector<Mover> coded;
    const auto take = [&](const std::vector<Mover>& movers) {
      for (const Mover& mover : movers) {
        if (mover.recode == Recode::encode || mover.recode == Recode::round) coded.push_back(by_values(mover));
        if (mover.recode == Recode::encode) side.encoders[s].push_back(mover);
      }
    };
    for (const Batch& batch : side.senders[s]->batches) take(batch.movers);
    take(side.senders[s]->apart);
    if (!coded.empty()) side.probes.try_emplace(s, side.device, coded, side.arrays);
  }
}

void Exchange::Impl::make_programs() {
  for (auto& pointer : sides) {
    Side& side = *pointer;
    Batch release;
    if (options.poison) strip_release(side, release);
    if (overlaps) in_room_for("the counters", side, [&] { unpack_behind_packing(side); });
    if (std::any_of(side.received.begin(), side.received.end(), [&](auto c) { return channels[c].message.combines; }))
      in_room_for("the tables of what is combined", side, [&] { combine(side); });
    note_transfers(side);
    for (const auto& sender : side.senders)
      for (const Batch& batch : sender->batches) side.encodes_late |= batch.late;
    Batch opening, gates;
    for (const auto& receiver : side.receivers) {
      opening.after.insert(opening.after.end(), receiver->opened.begin(), receiver->opened.end());
      gates.before.insert(gates.before.end(), receiver->gate.begin(), receiver->gate.end());
    }
    if (produces) {
      make_windows(side);
      make_opening(side, opening);
      opening.after.clear();
    }
    Schedule schedule = schedule_of(side, opening);
    side.message_stamp = schedule.message_stamp;
    in_room_for("the times", side,
                [&] { side.stamps = side.arena.take<std::uint64_t>(static_cast<std::size_t>(schedule.stamps) + 1); });
    fill(side.stream, side.stamps.data(), 0, side.stamps.bytes());
    side.stream.synchronize();
    const Batch nothing;
    // Somebody must count the exchange, where anybody waits for its number.
    const bool alone = side.senders.empty() && side.receivers.empty();
    if (schedule.early.empty() && !alone) schedule.early.push_back({&nothing, 0, 0, 0});
    std::vector<Scheduled> both = schedule.early;
    both.insert(both.end(), schedule.late.begin(), schedule.late.end());
    const int teams = options.knobs.teams, users = users_of(grid.machine(), side.index);
    const int beside = teams_beside(side.device, teams, users);
    in_room_for("the tables of the launches", side, [&] {
      side.outgoing = Program(side.device, schedule.early, &side.arrays, beside, users);
      side.incoming = Program(side.device, schedule.late, &side.arrays, beside, users);
      side.whole = Program(side.device, both, &side.arrays, teams, users);
      if (!gates.before.empty()) side.gates = Program(side.device, {{&gates, 0, 0, 0}}, nullptr, 1);
      if (!release.after.empty()) side.release = Program(side.device, {{&release, 0, 0, 0}}, nullptr, 1);
      place_arrays(side);
      if (options.measure_errors) make_probes(side);
      if (options.poison) make_poison(side);
    });
  }
}

}  // namespace slipstream

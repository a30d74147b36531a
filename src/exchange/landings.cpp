// Where an exchange's messages land: memory for them, and who knows its addresses.
#include <algorithm>
#include <cstring>
#include <set>

#include <slipstream/error.hpp>

#include "exchange/impl.hpp"

namespace slipstream {
namespace {

using What = Directory::What;

constexpr std::size_t page = 4096;

std::size_t device_bytes(const Channel& c) { return c.need.slot_bytes * static_cast<std::size_t>(c.need.depth); }
std::size_t host_bytes(const Channel& c) { return round_up(c.need.host_bytes, page); }

/// What each message takes, largest first.
std::string by_message(const std::vector<Channel>& channels, int target, std::size_t (*bytes)(const Channel&)) {
  std::vector<std::pair<std::size_t, const Channel*>> all;
  for (const Channel& c : channels)
    if (c.message.target == target && bytes(c)) all.push_back({bytes(c), &c});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  constexpr std::size_t named = 4;
  for (std::size_t i = 0; i < std::min(named, all.size()); ++i)
    text += (i ? ", " : "") + std::to_string(all[i].first) + " B for the message of device " +
            std::to_string(all[i].second->message.source) + " by " + to_string(all[i].second->choice.route);
  if (all.size() > named) text += " and " + std::to_string(all.size() - named) + " smaller ones";
  return text;
}

}  // namespace

/// Makes what is small beside slots and buffers of messages.
void Exchange::Impl::in_room_for(const char* what, const Side& side, const std::function<void()>& make) const {
  try {
    make();
  } catch (const OutOfMemory& error) {
    throw OutOfMemory("no room on device " + std::to_string(side.index) + " of rank " + std::to_string(grid.rank()) +
                          " for " + what + " of an exchange: " + error.what(),
                      joined(error.facts(), {{"purpose", what}, {"rank", grid.rank()}}));
  }
}

void Exchange::Impl::make_landing_places() {
  for (auto& side : sides) {
    std::size_t signals = 1, slot_bytes = 0;
    std::vector<std::pair<const Channel*, std::size_t>> rings;
    std::vector<std::pair<Directory::Key, std::size_t>> counters;
    const auto counter = [&](What what, int device, int peer, int chunk) {
      Directory::Key key{what, device, peer};
      key.item = chunk;
      counters.push_back({key, signals++});
    };
    const auto rank_of = [&](int device) { return grid.machine().device(device).rank; };
    std::set<int> written;  // ranks whose fields the device stores into
    for (const Channel& channel : channels) {
      const Message& m = channel.message;
      const SlotNeed& need = channel.need;
      if (channel.pair.same_device && !m.through_slots()) continue;
      for (int chunk = 0; chunk < need.chunks; ++chunk) {
        if (m.target == side->index) counter(What::full, m.target, m.source, chunk);
        if (m.source == side->index) counter(What::free, m.source, m.target, chunk);
      }
      if (need.in_place && m.target == side->index) counter(What::landed, m.target, m.source, 0);
      if (need.in_place && m.source == side->index) counter(What::ready, m.source, m.target, 0);
      if (need.in_place && m.source == side->index && !channel.pair.same_process) written.insert(m.target_rank);
      if (need.slot_bytes && m.target == side->index) {
        rings.push_back({&channel, slot_bytes});
        slot_bytes += device_bytes(channel);
      }
    }
    in_room_for("the counters", *side, [&] {
      side->signals = side->arena.take<Signal>(signals * signal_line, Memory::shared);
      side->failure = side->arena.take<Failure>(1, Memory::pinned);
      side->failure.data()[0] = Failure{};
    });
    try {
      if (slot_bytes) side->slots = side->arena.take<std::byte>(slot_bytes, Memory::shared);
    } catch (const Error& error) {
      throw OutOfMemory(
          "no room on device " + std::to_string(side->index) + " of rank " + std::to_string(grid.rank()) +
              " for the landing slots of an exchange, " + std::to_string(slot_bytes) +
              " B in all: " + by_message(channels, side->index, device_bytes) + " (" + error.what() +
              "); fewer ghost layers, quantities or cells of a device take less, and of large messages a "
              "smaller ring (Knobs::ring, in Python ring=...)",
          joined(error.facts(), {{"purpose", "landing slots"}, {"rank", grid.rank()}, {"needed", slot_bytes}}));
    }
    fill(side->stream, side->signals.data(), 0, side->signals.bytes());
    // Lines that an earlier exchange left in the same memory must not pass for this one's.
    if (slot_bytes) fill(side->stream, side->slots.data(), 0, side->slots.bytes());
    side->stream.synchronize();
    for (const int rank : written)
      directory.publish({What::broken, side->index, -1}, rank, side->device, side->broken());
    for (const auto& [key, index] : counters)
      directory.publish(key, rank_of(key.peer), side->device, side->signals.data() + index * signal_line);
    for (const auto& [channel, offset] : rings)
      directory.publish({What::slot, channel->message.target, channel->message.source}, channel->message.source_rank,
                        side->device, side->slots.data() + offset);
  }
}

/// Landing places in host memory, of messages within this process and from others of the node.
void Exchange::Impl::make_host_landings() {
  for (auto& side : sides)
    for (const bool mapped : {false, true}) {
      std::size_t bytes = 0;
      std::vector<std::pair<const Message*, std::size_t>> offsets;
      for (const Channel& channel : channels) {
        if (channel.message.target != side->index || !channel.need.host_bytes) continue;
        if (channel.pair.same_process == mapped) continue;
        offsets.push_back({&channel.message, bytes});
        bytes += host_bytes(channel);
      }
      if (!bytes) continue;
      Span<std::byte>& places = mapped ? side->mapped_host_slots : side->host_slots;
      try {
        places = side->arena.take<std::byte>(bytes, mapped ? Memory::pinned_shared : Memory::pinned);
      } catch (const Error& error) {
        if (!mapped)
          throw OutOfMemory(
              "no room in the host's memory for the landing places of device " + std::to_string(side->index) +
                  " of rank " + std::to_string(grid.rank()) + ", " + std::to_string(bytes) +
                  " B: " + by_message(channels, side->index, host_bytes) + " (" + error.what() + ")",
              joined(error.facts(), {{"purpose", "landing places"}, {"rank", grid.rank()}, {"needed", bytes}}));
        continue;  // nothing is published, so that prove_host_landings() fails and messages go through MPI
      }
      if (!mapped) std::memset(places.data(), 0, places.bytes());
      for (const auto& [message, offset] : offsets)
        directory.publish({What::host, side->index, message->source}, message->source_rank, side->device,
                          places.data() + offset);
    }
}

/// Where one rank cannot map what it should (containers may forbid it), all ranks send through MPI.
void Exchange::Impl::prove_host_landings() {
  if (comm.size() == 1) return;
  bool mapped = true;
  for (const Channel& channel : channels) {
    const Message& m = channel.message;
    if (!channel.need.host_bytes || channel.pair.same_process || !local(m.source)) continue;
    try {
      directory.find({What::host, m.target, m.source}, side_of(m.source).device);
    } catch (const Error&) {
      mapped = false;
    }
  }
  if (comm.all(mapped)) return;
  for (Channel& channel : channels) {
    if (channel.pair.same_process) continue;
    channel.message.host_shared = false;
    channel.need = route(channel.choice.route).need(channel.message, channel.bundle->legs);
  }
}

void Exchange::Impl::publish_fields() {
  std::set<std::pair<Directory::Key, int>> done;
  for (const Channel& channel : channels) {
    if (!channel.need.in_place || channel.pair.same_device || !local(channel.message.target)) continue;
    for (const Leg& leg : channel.bundle->legs) {
      Field& field = items[leg.item].to();
      for (int array = 0; array < field.options().copies; ++array) {
        const Directory::Key key{What::field, channel.message.target, -1, leg.item, array, leg.transfer->target_block};
        const int user = channel.message.source_rank;
        if (!done.insert({key, user}).second) continue;
        directory.publish(key, user, side_of(channel.message.target).device, field.array(key.block, array));
        if (user != grid.rank()) stored_by_others.push_back(field.owner(key.block, array));
      }
    }
  }
}

/// Ranks that store into a field of this one may have to be stopped when the exchange ends.
void Exchange::Impl::find_words_of_writers() {
  for (const Channel& channel : channels) {
    if (!channel.need.in_place || channel.pair.same_process || !local(channel.message.target)) continue;
    Side& side = side_of(channel.message.target);
    writers.emplace_back(&side,
                         static_cast<Signal*>(directory.find({What::broken, channel.message.source, -1}, side.device)));
  }
}

/// The addresses of a message's counters and slots, as a device of this rank reaches them.
Landing Exchange::Impl::landing_of(const Channel& channel, Device user) {
  Landing landing;
  const Message& m = channel.message;
  const SlotNeed& need = channel.need;
  if (need.host_bytes) landing.host = static_cast<std::byte*>(directory.find({What::host, m.target, m.source}, user));
  if (channel.pair.same_device && !m.through_slots()) return landing;
  const auto counter = [&](What what, int device, int peer, int chunk) {
    Directory::Key key{what, device, peer};
    key.item = chunk;
    return static_cast<Signal*>(directory.find(key, user));
  };
  for (int chunk = 0; chunk < need.chunks; ++chunk) {
    landing.full.push_back(counter(What::full, m.target, m.source, chunk));
    landing.free.push_back(counter(What::free, m.source, m.target, chunk));
  }
  if (need.slot_bytes) landing.slot = static_cast<std::byte*>(directory.find({What::slot, m.target, m.source}, user));
  if (need.in_place) {
    landing.ready = counter(What::ready, m.source, m.target, 0);
    landing.landed = counter(What::landed, m.target, m.source, 0);
  }
  return landing;
}

}  // namespace slipstream

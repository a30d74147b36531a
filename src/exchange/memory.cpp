#include "exchange/memory.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include <slipstream/error.hpp>

#include "device/kept_memory.hpp"
#include "mover/lower.hpp"

namespace slipstream {
namespace {

using What = Directory::What;

constexpr std::size_t page = 4096;

std::size_t device_bytes(const Channel& c) { return c.need.slot_bytes * static_cast<std::size_t>(c.need.depth); }
std::size_t host_bytes(const Channel& c) { return round_up(c.need.host_bytes, page); }

/// Lists the bytes of memory that each message takes, the largest message first.
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

DeviceMemory::DeviceMemory(const Plan& plan, int index, Arena arena)
    : plan(plan), index(index), device(arena.device()), arena(std::move(arena)), stream(device, Priority::high) {}

void DeviceMemory::in_room_for(const char* what, const std::function<void()>& make) const {
  try {
    make();
  } catch (const OutOfMemory& error) {
    const int rank = plan.grid.rank();
    throw OutOfMemory("no room on device " + std::to_string(index) + " of rank " + std::to_string(rank) + " for " +
                          what + " of an exchange: " + error.what(),
                      joined(error.facts(), {{"purpose", what}, {"rank", rank}}));
  }
}

ExchangeMemory::ExchangeMemory(const Plan& plan, const Communicator& comm) : directory(plan.grid.rank()), plan_(plan) {
  const Machine& machine = plan.grid.machine();
  for (const int index : machine.devices_of_rank(plan.grid.rank()))
    devices.push_back(std::make_unique<DeviceMemory>(plan, index, comm.arena(machine.device(index).local)));
  // Peer access goes both ways: the source stores values, and the target's kernels set counters.
  for (const Channel& channel : plan.channels) {
    if (!channel.pair.same_process || channel.pair.same_device) continue;
    const Device from = of(channel.message.source).device, to = of(channel.message.target).device;
    peer_access(from, to);
    peer_access(to, from);
  }
}

DeviceMemory& ExchangeMemory::of(int device) const {
  for (const auto& mine : devices)
    if (mine->index == device) return *mine;
  throw Error(ErrorCode::not_found, "device " + std::to_string(device) + " does not belong to this rank",
              {{"device", device}});
}

void ExchangeMemory::make() {
  for (const auto& mine : devices) make_counters_and_slots(*mine);
  for (const auto& mine : devices)
    for (const bool mapped : {false, true}) make_host_slots(*mine, mapped);
}

void ExchangeMemory::make_counters_and_slots(DeviceMemory& mine) {
  const int rank = plan_.grid.rank();
  std::size_t slot_bytes = 0;
  std::vector<std::pair<Directory::Key, std::size_t>> rings;
  std::vector<Directory::Key> counters;
  const auto rank_of = [&](int device) { return plan_.grid.machine().device(device).rank; };
  std::set<int> written;  // ranks into whose fields the device stores
  for (const Channel& channel : plan_.channels) {
    const Message& m = channel.message;
    const SlotNeed& need = channel.need;
    if (channel.pair.same_device && !m.through_slots()) continue;
    for (int chunk = 0; chunk < need.chunks; ++chunk) {
      if (m.target == mine.index) counters.push_back({What::full, m.target, m.source, chunk});
      if (m.source == mine.index) counters.push_back({What::free, m.source, m.target, chunk});
    }
    if (need.in_place && m.target == mine.index) counters.push_back({What::delivered, m.target, m.source});
    if (need.in_place && m.source == mine.index) counters.push_back({What::ready, m.source, m.target});
    if (need.in_place && m.source == mine.index && !channel.pair.same_process) written.insert(m.target_rank);
    if (need.slot_bytes && m.target == mine.index) {
      rings.push_back({{What::slot, m.target, m.source}, slot_bytes});
      slot_bytes += device_bytes(channel);
    }
  }
  mine.in_room_for("the counters", [&] {
    mine.signals = mine.arena.take<Signal>((1 + counters.size()) * signal_line, Memory::shared);
    mine.failure = mine.arena.take<Failure>(1, Memory::pinned);
    mine.failure.data()[0] = Failure{};
  });
  try {
    if (slot_bytes) mine.slots = mine.arena.take<std::byte>(slot_bytes, Memory::shared);
  } catch (const Error& error) {
    throw OutOfMemory("no room on device " + std::to_string(mine.index) + " of rank " + std::to_string(rank) +
                          " for the receive slots of an exchange, " + std::to_string(slot_bytes) +
                          " B in all: " + by_message(plan_.channels, mine.index, device_bytes) + " (" + error.what() +
                          "); fewer ghost layers, quantities or cells of a device take less, and of large messages a "
                          "smaller ring (Knobs::ring, in Python ring=...)",
                      joined(error.facts(), {{"purpose", "receive slots"}, {"rank", rank}, {"needed", slot_bytes}}));
  }
  fill(mine.stream, mine.signals.data(), 0, mine.signals.bytes());
  // Packets of an earlier exchange in the same memory must not look like packets of this one.
  if (slot_bytes) fill(mine.stream, mine.slots.data(), 0, mine.slots.bytes());
  mine.stream.synchronize();
  for (const int other : written) directory.publish({What::broken, mine.index, -1}, other, mine.device, mine.broken());
  Signal* signal = mine.signals.data();
  for (const Directory::Key& key : counters)
    directory.publish(key, rank_of(key.peer), mine.device, signal += signal_line);
  for (const auto& [key, offset] : rings)
    directory.publish(key, rank_of(key.peer), mine.device, mine.slots.data() + offset);
}

/// Allocates receive buffers in host memory for messages within this process, or from other ranks of the node
/// (`mapped`).
void ExchangeMemory::make_host_slots(DeviceMemory& mine, bool mapped) {
  const int rank = plan_.grid.rank();
  std::size_t bytes = 0;
  std::vector<std::pair<const Message*, std::size_t>> offsets;
  for (const Channel& channel : plan_.channels) {
    if (channel.message.target != mine.index || !channel.need.host_bytes) continue;
    if (channel.pair.same_process == mapped) continue;
    offsets.push_back({&channel.message, bytes});
    bytes += host_bytes(channel);
  }
  if (!bytes) return;
  Span<std::byte>& places = mapped ? mine.mapped_host_slots : mine.host_slots;
  try {
    places = mine.arena.take<std::byte>(bytes, mapped ? Memory::pinned_shared : Memory::pinned);
  } catch (const Error& error) {
    if (!mapped)
      throw OutOfMemory("no room in the host's memory for the receive places of device " + std::to_string(mine.index) +
                            " of rank " + std::to_string(rank) + ", " + std::to_string(bytes) +
                            " B: " + by_message(plan_.channels, mine.index, host_bytes) + " (" + error.what() + ")",
                        joined(error.facts(), {{"purpose", "receive places"}, {"rank", rank}, {"needed", bytes}}));
    return;  // other ranks find no receive buffer to map into their memory, so messages go through MPI
  }
  if (!mapped) std::memset(places.data(), 0, places.bytes());
  for (const auto& [message, offset] : offsets)
    directory.publish({What::host, mine.index, message->source}, message->source_rank, mine.device,
                      places.data() + offset);
}

/// Tries to map the host memory of neighbours on this node. Mapping may fail, for example in containers.
bool ExchangeMemory::maps_hosts() {
  try {
    for (const Channel& channel : plan_.channels) {
      const Message& m = channel.message;
      if (channel.need.host_bytes && !channel.pair.same_process && plan_.local(m.source))
        directory.find({What::host, m.target, m.source}, of(m.source).device);
    }
  } catch (const Error&) {
    return false;
  }
  return true;
}

void ExchangeMemory::find_words_of_writers() {
  for (const Channel& channel : plan_.channels) {
    if (!channel.need.in_place || channel.pair.same_process || !plan_.local(channel.message.target)) continue;
    DeviceMemory& mine = of(channel.message.target);
    writers_.emplace_back(
        &mine, static_cast<Signal*>(directory.find({What::broken, channel.message.source, -1}, mine.device)));
  }
}

ReceiveBuffer ExchangeMemory::receive_buffer_of(const Channel& channel, Device user) {
  ReceiveBuffer receive_buffer;
  const Message& m = channel.message;
  const SlotNeed& need = channel.need;
  if (need.host_bytes)
    receive_buffer.host = static_cast<std::byte*>(directory.find({What::host, m.target, m.source}, user));
  if (channel.pair.same_device && !m.through_slots()) return receive_buffer;
  const auto counter = [&](What what, int device, int peer, int chunk) {
    return static_cast<Signal*>(directory.find({what, device, peer, chunk}, user));
  };
  for (int chunk = 0; chunk < need.chunks; ++chunk) {
    receive_buffer.full.push_back(counter(What::full, m.target, m.source, chunk));
    receive_buffer.free.push_back(counter(What::free, m.source, m.target, chunk));
  }
  if (need.slot_bytes)
    receive_buffer.slot = static_cast<std::byte*>(directory.find({What::slot, m.target, m.source}, user));
  if (need.in_place) {
    receive_buffer.ready = counter(What::ready, m.source, m.target, 0);
    receive_buffer.delivered = counter(What::delivered, m.target, m.source, 0);
  }
  return receive_buffer;
}

void ExchangeMemory::revoke() noexcept {
  for (const auto& [mine, broken] : writers_) try {
      fill(mine->stream, broken, 0xff, sizeof *broken);
      mine->stream.synchronize();
    } catch (...) {
      // A failed device cannot be written, nor can others write to it, so its failure flag is not needed.
    }
}

void ExchangeMemory::keep() {
  for (const auto& mine : devices) {
    keep_for_ever(std::move(mine->signals));
    keep_for_ever(std::move(mine->slots));
    keep_for_ever(std::move(mine->mapped_host_slots));
  }
}

}  // namespace slipstream

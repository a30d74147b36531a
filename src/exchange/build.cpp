#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <thread>

#include <slipstream/error.hpp>

#include "exchange/impl.hpp"
#include "machine/gpu_mpi.hpp"

namespace slipstream {
namespace {

using What = Directory::What;

constexpr std::size_t page = 4096;
constexpr std::size_t line = 128;  // bytes between signals, so that no two share a cache line

}  // namespace

Exchange::Impl::Impl(const Communicator& world, const Grid& grid, std::vector<ExchangeItem> wanted,
                     ExchangeOptions chosen)
    : comm(world), grid(grid), items(std::move(wanted)), options(std::move(chosen)) {
  for (const auto& item : items) planned.push_back({item.pattern, item.field->options()});
  hash = plan_hash(grid, planned, options);
  agree();
  check_mpi(MPI_Comm_dup(comm.mpi(), &own), "duplicate a communicator for an exchange");
  for (const int device : grid.machine().devices_of_rank(grid.rank()))
    sides.push_back(std::make_unique<Side>(device, grid.machine().device(device).local));
  bundles = bundle(grid, planned, grid.rank());
  agree_on_messages();
  on_all_ranks([&] { make_channels(); });
  prepare_routes();
  on_all_ranks([&] {
    count_bindings();
    make_landing_places();
    make_host_landings();
    publish_fields();
  });
  directory.gather(comm);
  prove_host_landings();
  // It ends together, too: nobody stores before everybody's signals are zero.
  on_all_ranks([&] {
    make_ends();
    make_programs();
  });
}

/// Where one rank fails, all throw, and none waits for it.
void Exchange::Impl::on_all_ranks(const std::function<void()>& step) const {
  std::exception_ptr thrown;
  std::string message;
  try {
    step();
  } catch (const std::exception& error) {
    thrown = std::current_exception();
    message = *error.what() ? error.what() : "failed without saying why";
  }
  const auto messages = comm.all_gather(message);
  if (thrown) std::rethrow_exception(thrown);
  for (int rank = 0; rank < comm.size(); ++rank)
    if (!messages[rank].empty())
      throw Error("an exchange could not be made, rank " + std::to_string(rank) + " says: " + messages[rank]);
}

/// What each message's slots take on a device, largest first.
std::string Exchange::Impl::slots_of(int device) const {
  std::vector<std::pair<std::size_t, const Channel*>> all;
  for (const Channel& c : channels)
    if (c.message.target == device && c.need.slot_bytes)
      all.push_back({c.need.slot_bytes * static_cast<std::size_t>(c.need.depth), &c});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  constexpr std::size_t named = 4;
  for (std::size_t i = 0; i < std::min(named, all.size()); ++i)
    text += (i ? ", " : "") + std::to_string(all[i].first) + " B for the message of device " +
            std::to_string(all[i].second->message.source) + " by " + to_string(all[i].second->choice.route);
  if (all.size() > named) text += " and " + std::to_string(all.size() - named) + " smaller ones";
  return text;
}

Exchange::Impl::~Impl() {
  await_or_abandon();
  for (auto& side : sides) {
    try {
      side->stream.synchronize();
    } catch (...) {
      // A destructor has nobody to tell; the same error was thrown where the stream was used.
    }
  }
  // Senders may still be copying into memory that is about to be unmapped.
  if (host_driven)
    for (auto& side : sides) {
      side->senders.clear();
      side->receivers.clear();
    }
  directory.release();
  leave_politely();
}

void Exchange::Impl::agree() const {
  for (const auto other : comm.all_gather(static_cast<std::int64_t>(hash)))
    require(other == static_cast<std::int64_t>(hash),
            "the ranks construct different exchanges: grids, fields, patterns, routes and codecs must be the same");
}

/// Both ends of every message must list the same transfers.
void Exchange::Impl::agree_on_messages() const {
  struct Entry {
    std::int64_t source, target;
    std::uint64_t hash;
  };
  std::string mine;
  for (const auto& [key, b] : bundles.by_pair) {
    const Entry entry{b.source, b.target, transfers_hash(b)};
    mine.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> known;
  for (const std::string& text : comm.all_gather(mine))
    for (std::size_t at = 0; at + sizeof(Entry) <= text.size(); at += sizeof(Entry)) {
      Entry entry;
      std::memcpy(&entry, text.data() + at, sizeof entry);
      const auto [seen, first] = known.try_emplace({entry.source, entry.target}, entry.hash);
      require(first || seen->second == entry.hash,
              "the ranks of devices " + std::to_string(entry.source) + " and " + std::to_string(entry.target) +
                  " list different transfers between them: patterns must be the same on all ranks");
    }
}

/// Memory that neighbours map must outlive their last store; a rank that died is waited for only so long.
void Exchange::Impl::leave_politely() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized || own == MPI_COMM_NULL) return;
  if (comm.size() > 1) {
    MPI_Request request;
    MPI_Ibarrier(own, &request);
    const auto start = std::chrono::steady_clock::now();
    for (int done = 0; !done && std::chrono::steady_clock::now() - start < std::chrono::seconds(5);) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (!done) std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (done) MPI_Comm_free(&own);
    }
  } else {
    MPI_Comm_free(&own);
  }
}

/// Tags tell a rank's devices apart by their place among its own.
int Exchange::Impl::place_in_rank(int device) const {
  return device - grid.machine().devices_of_rank(grid.machine().device(device).rank).front();
}

void Exchange::Impl::make_message(Channel& channel, int most_devices) {
  const Bundle& b = *channel.bundle;
  Message& m = channel.message;
  m.source = b.source;
  m.target = b.target;
  m.source_rank = grid.machine().device(b.source).rank;
  m.target_rank = grid.machine().device(b.target).rank;
  m.tag = place_in_rank(b.source) * most_devices + place_in_rank(b.target);
  m.plan = hash;
  m.bytes = b.bytes;
  m.wire_bytes = options.codec->wire_bytes(b.bytes);
  m.codec = options.codec;
  m.comm = own;
  m.knobs = options.knobs;
  m.combines = channel.pair.combines;
  m.host_shared = channel.pair.same_node;
  m.in_place_ok = channel.pair.same_device || channel.pair.mappable;
}

/// A message is answered where its target sends back by a way whose arrival the source's device waits for.
void Exchange::Impl::prove_answers() {
  const auto proves = [](const Channel& c) {
    return c.choice.route == RouteKind::direct || (c.choice.route == RouteKind::kernel && c.pair.combines);
  };
  for (Channel& channel : channels)
    for (const Channel& back : channels)
      if (back.message.source == channel.message.target && back.message.target == channel.message.source &&
          proves(back) && proves(channel))
        channel.message.answered = true;
}

/// Asked with messages, by all ranks, where a pair anywhere would use it.
std::string Exchange::Impl::gpu_mpi_refusal() const {
  const auto is = [](RouteKind kind) { return kind == RouteKind::gpu_mpi; };
  const bool allowed =
      std::any_of(options.routes.begin(), options.routes.end(), is) ||
      std::any_of(options.chosen.begin(), options.chosen.end(), [&](const auto& c) { return is(c.second); });
  if (!allowed) return "turned off";
  bool wanted = false;
  const Pairs pairs(grid.machine(), planned, options);
  for (const auto& [key, b] : bundles.by_pair)
    wanted |= is(choose(pairs.of(b.source, b.target), b.source, b.target, options).route);
  if (comm.all(!wanted)) return "";
  std::vector<Device> devices;
  for (const auto& side : sides) devices.push_back(side->device);
  return prove_gpu_mpi(comm, devices);
}

void Exchange::Impl::make_channels() {
  const Machine& machine = grid.machine();
  int most = 1;
  for (int rank = 0; rank < machine.ranks(); ++rank)
    most = std::max(most, static_cast<int>(machine.devices_of_rank(rank).size()));
  const Pairs pairs(machine, planned, options, gpu_mpi_refusal());
  for (const auto& [key, b] : bundles.by_pair) {
    const Pair pair = pairs.of(b.source, b.target);
    Channel channel{&b, choose(pair, b.source, b.target, options), pair, Message{}, SlotNeed{}};
    make_message(channel, most);
    // Both ways: the source stores values, the target's kernels store counters.
    const MachineDevice &from = machine.device(b.source), &to = machine.device(b.target);
    if (pair.same_process && !pair.same_device && from.rank == grid.rank()) {
      peer_access(from.local, to.local);
      peer_access(to.local, from.local);
    }
    const Route& way = route(channel.choice.route);
    messages.push_back({b.source, b.target, channel.choice.route, channel.choice.reason,
                        static_cast<std::int64_t>(b.bytes), static_cast<std::int64_t>(b.legs.size())});
    host_driven |= way.needs_host();
    capturable &= way.capturable();
    channels.push_back(std::move(channel));
  }
  prove_answers();
  for (Channel& channel : channels)
    channel.need = route(channel.choice.route).need(channel.message, channel.bundle->legs);
  std::stable_sort(channels.begin(), channels.end(), [](const Channel& a, const Channel& b) {
    // Farthest first: other nodes, then by the slowest route.
    return std::pair(a.pair.same_node, b.choice.route) < std::pair(b.pair.same_node, a.choice.route);
  });
  for (const MessageInfo& m : messages)
    for (std::size_t c = 0; c < channels.size(); ++c)
      if (channels[c].message.source == m.source && channels[c].message.target == m.target)
        channel_of_message.push_back(c);
}

void Exchange::Impl::count_bindings() {
  bindings = 1;
  for (const auto& item : items) bindings *= item.field->options().copies;
  require(bindings <= 64, "the fields of one exchange have too many copies between them");
}

/// The array of each item that is current in a binding.
int Exchange::Impl::array_in(int binding, std::size_t item) const {
  for (std::size_t i = 0; i < item; ++i) binding /= items[i].field->options().copies;
  return binding % items[item].field->options().copies;
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
    for (const Channel& channel : channels) {
      const Message& m = channel.message;
      const SlotNeed& need = channel.need;
      if (channel.pair.same_device && !m.combines) continue;
      for (int chunk = 0; chunk < need.chunks; ++chunk) {
        if (m.target == side->index) counter(What::full, m.target, m.source, chunk);
        if (m.source == side->index) counter(What::free, m.source, m.target, chunk);
      }
      if (need.in_place && m.target == side->index) counter(What::landed, m.target, m.source, 0);
      if (need.in_place && m.source == side->index) counter(What::ready, m.source, m.target, 0);
      if (need.slot_bytes && m.target == side->index) {
        rings.push_back({&channel, slot_bytes});
        slot_bytes += need.slot_bytes * static_cast<std::size_t>(need.depth);
      }
    }
    side->signals = Buffer<Signal>(side->device, signals * line / sizeof(Signal), Memory::shared);
    try {
      if (slot_bytes) side->slots = Buffer<std::byte>(side->device, slot_bytes, Memory::shared);
    } catch (const Error& error) {
      throw OutOfMemory("no room on device " + std::to_string(side->index) + " of rank " + std::to_string(grid.rank()) +
                        " for the landing slots of an exchange, " + std::to_string(slot_bytes) +
                        " B in all: " + slots_of(side->index) + " (" + error.what() +
                        "); a smaller knobs.ring or fields of fewer ghost layers take less");
    }
    side->failure = Buffer<Failure>(side->device, 1, Memory::pinned);
    side->failure.data()[0] = Failure{};
    fill(side->stream, side->signals.data(), 0, side->signals.bytes());
    side->stream.synchronize();
    for (const auto& [key, index] : counters)
      directory.publish(key, side->device, side->signals.data() + index * line / sizeof(Signal), !local(key.peer));
    for (const auto& [channel, offset] : rings)
      directory.publish({What::slot, channel->message.target, channel->message.source}, side->device,
                        side->slots.data() + offset, !local(channel->message.source));
  }
}

/// Landing places in host memory, of messages within this process and from others of the node.
void Exchange::Impl::make_host_landings() {
  for (auto& side : sides)
    for (const bool mapped : {false, true}) {
      std::size_t bytes = 0;
      std::vector<std::pair<int, std::size_t>> offsets;
      for (const Channel& channel : channels) {
        if (channel.message.target != side->index || !channel.need.host_bytes) continue;
        if (channel.pair.same_process == mapped) continue;
        offsets.push_back({channel.message.source, bytes});
        bytes += round_up(channel.need.host_bytes, page);
      }
      if (!bytes) continue;
      Buffer<std::byte>& buffer = mapped ? side->mapped_host_slots : side->host_slots;
      try {
        buffer = Buffer<std::byte>(side->device, bytes, mapped ? Memory::pinned_shared : Memory::pinned);
      } catch (const Error&) {
        if (!mapped) throw;
        continue;  // nothing is published, so that prove_host_landings() fails and messages go through MPI
      }
      if (!mapped) std::memset(buffer.data(), 0, buffer.bytes());
      for (const auto& [source, offset] : offsets)
        directory.publish({What::host, side->index, source}, side->device, buffer.data() + offset, mapped);
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
  std::vector<Directory::Key> done;
  for (const Channel& channel : channels) {
    if (!channel.need.in_place || channel.pair.same_device || !local(channel.message.target)) continue;
    for (const Leg& leg : channel.bundle->legs) {
      Field& field = *items[leg.field].field;
      for (int array = 0; array < field.options().copies; ++array) {
        const Directory::Key key{What::field, channel.message.target, -1, leg.field, array, leg.transfer->target_block};
        const bool mapped = !channel.pair.same_process;
        const auto twin = std::find(done.begin(), done.end(), key);
        if (twin != done.end() && !mapped) continue;
        directory.publish(key, side_of(channel.message.target).device, field.array(key.block, array), mapped);
        done.push_back(key);
      }
    }
  }
}

Place Exchange::Impl::place_of(const Leg& leg, std::int64_t block, std::byte* array) const {
  const FieldOptions& field = items[leg.field].field->options();
  Place place{array, block_shape(grid.block(block).box.extents(), field), field.type};
  place.origin += place.shape.origin * static_cast<std::int64_t>(size_of(field.type));
  return place;
}

std::vector<std::vector<Place>> Exchange::Impl::places(const Channel& channel, bool at_source, bool through_directory,
                                                       Device user) {
  std::vector<std::vector<Place>> all(bindings);
  for (int b = 0; b < bindings; ++b)
    for (const Leg& leg : channel.bundle->legs) {
      const std::int64_t block = at_source ? leg.transfer->source_block : leg.transfer->target_block;
      const int array = array_in(b, leg.field);
      void* address = through_directory
                          ? directory.find({What::field, channel.message.target, -1, leg.field, array, block}, user)
                          : items[leg.field].field->array(block, array);
      all[b].push_back(place_of(leg, block, static_cast<std::byte*>(address)));
    }
  return all;
}

/// The addresses of a message's counters and slots, as a device of this rank reaches them.
Landing Exchange::Impl::landing_of(const Channel& channel, Device user) {
  Landing landing;
  const Message& m = channel.message;
  const SlotNeed& need = channel.need;
  if (need.host_bytes) landing.host = static_cast<std::byte*>(directory.find({What::host, m.target, m.source}, user));
  if (channel.pair.same_device && !m.combines) return landing;
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

void Exchange::Impl::make_ends() {
  for (const Channel& channel : channels) {
    const Route& way = route(channel.choice.route);
    const Message& m = channel.message;
    if (local(m.source)) {
      Side& side = side_of(m.source);
      SendSite site;
      site.device = side.device;
      site.legs = channel.bundle->legs;
      site.sources = places(channel, true, false, side.device);
      if (channel.need.in_place) site.targets = places(channel, false, !channel.pair.same_device, side.device);
      site.landing = landing_of(channel, side.device);
      site.sequence = side.sequence();
      site.binding = &binding;
      side.senders.push_back(way.sender(m, site));
    }
    if (local(m.target)) {
      Side& side = side_of(m.target);
      ReceiveSite& site = receive_sites.emplace_back();
      site.device = side.device;
      site.legs = channel.bundle->legs;
      site.targets = places(channel, false, false, side.device);
      site.landing = landing_of(channel, side.device);
      site.sequence = side.sequence();
      site.binding = &binding;
      side.receivers.push_back(way.receiver(m, site));
    }
  }
}

/// One batch for everything that is combined on a device: it waits for all messages, and frees all slots.
void Exchange::Impl::combine(Side& side, const std::vector<std::size_t>& channel_of) {
  Batch all;
  std::vector<std::vector<Contributor>> contributors(bindings);
  for (std::size_t r = 0; r < side.receivers.size(); ++r) {
    Receiver& receiver = *side.receivers[r];
    const Channel& channel = channels[channel_of[r]];
    if (!channel.message.combines) continue;
    for (Batch& batch : receiver.batches) {
      all.before.insert(all.before.end(), batch.before.begin(), batch.before.end());
      all.after.insert(all.after.end(), batch.after.begin(), batch.after.end());
    }
    receiver.batches.clear();
    for (int b = 0; b < bindings; ++b)
      for (const Arrived& arrived : receiver.arrived) {
        const std::int64_t block = arrived.leg->transfer->target_block;
        std::byte* array = items[arrived.leg->field].field->array(block, array_in(b, arrived.leg->field));
        contributors[b].push_back({arrived, place_of(*arrived.leg, block, array)});
      }
  }
  // In one launch with the packing, the values that are combined may be those that other teams still pack.
  std::size_t packings = 0;
  for (const auto& sender : side.senders) packings += sender->batches.size();
  side.packed = Buffer<Signal>(side.device, std::max<std::size_t>(1, packings) * line / sizeof(Signal));
  fill(side.stream, side.packed.data(), 0, side.packed.bytes());
  side.stream.synchronize();
  Signal* packed = side.packed.data();
  for (auto& sender : side.senders)
    for (Batch& batch : sender->batches) {
      batch.after.push_back(packed);
      all.before.push_back({packed, 0, side.index});
      packed += line / sizeof(Signal);
    }
  side.combiner = Combiner(side.device);
  for (int b = 0; b < bindings; ++b) all.movers.push_back(side.combiner.movers(contributors[b]));
  all.round = 1 << 20;
  side.own_batches.push_back(std::move(all));
}

namespace {

double bytes_of(const Batch& batch) {
  double bytes = 0;
  if (!batch.movers.empty())
    for (const Mover& m : batch.movers.front()) bytes += static_cast<double>(m.words()) * m.word;
  return bytes;
}

// Above every number of bytes, and small enough for half a round to count.
constexpr double by_round = 1e13;

/// Such a batch asks in this exchange whether the ghosts are open.
bool is_in_place(const Batch& batch) { return !batch.before.empty() && batch.before.front().lag == 0 && !batch.late; }

bool is_local(const Batch& batch) { return batch.before.empty() && batch.after.empty(); }

}  // namespace

// The order of a launch. What leaves the device goes first and keeps the link busy; copies that stay on it are spread
// between; what arrives is unpacked somewhat after this device sent the like, when its neighbours will have, too. Where
// rings are shorter than their messages the order is by rounds, so that every slot is emptied before it is asked for.
void Exchange::Impl::make_programs() {
  for (auto& pointer : sides) {
    Side& side = *pointer;
    std::vector<std::size_t> channel_of;
    bool combines = false, rounds = false;
    for (std::size_t c = 0; c < channels.size(); ++c)
      if (channels[c].message.target == side.index) {
        channel_of.push_back(c);
        combines |= channels[c].message.combines;
      }
    for (const Channel& c : channels)
      rounds |= c.need.chunks > c.need.depth && (c.message.target == side.index || c.message.source == side.index);
    if (combines) combine(side, channel_of);
    Batch open;
    Batch gates;
    for (const auto& receiver : side.receivers) {
      open.after.insert(open.after.end(), receiver->opened.begin(), receiver->opened.end());
      gates.before.insert(gates.before.end(), receiver->gate.begin(), receiver->gate.end());
      side.delivers |= receiver->delivers();
      transfers |= receiver->transfers() || receiver->delivers();
      side.transfers |= receiver->transfers();
    }
    double sent = 0, copied = 0;
    for (const auto& sender : side.senders) {
      transfers |= sender->transfers();
      side.transfers |= sender->transfers();
      for (const Batch& batch : sender->batches) (is_local(batch) ? copied : sent) += bytes_of(batch);
    }
    const double span = std::max({sent, copied, 1.0}), lag = std::min(0.2 * span, 8e6);
    std::vector<Scheduled> early, late;
    int stamp = 0;
    if (!open.after.empty()) early.push_back({&open, -1, -1, 0});
    // Packed chunks of all messages by round, then what goes into ghosts.
    std::vector<const Batch*> outgoing;
    for (const auto& sender : side.senders)
      for (const Batch& batch : sender->batches) outgoing.push_back(&batch);
    std::stable_sort(outgoing.begin(), outgoing.end(), [](const Batch* a, const Batch* b) {
      return std::pair(a->before.empty() || a->before.front().lag > 0 ? 0 : 1, a->round) <
             std::pair(b->before.empty() || b->before.front().lag > 0 ? 0 : 1, b->round);
    });
    // Large messages: packing waits for memory, rows in place wait for the link, so both go on at once; packed chunks
    // somewhat ahead, for they must be unpacked, too.
    const bool large = span > 8e6;
    double at = 0, packed = 0, packed_at = 0;
    for (const Batch* batch : outgoing)
      if (!is_local(*batch) && !is_in_place(*batch)) packed += bytes_of(*batch);
    std::map<int, double> round_sent;
    for (const Batch* batch : outgoing) {
      const double bytes = bytes_of(*batch);
      double from = at, to = at + bytes;
      if (is_local(*batch)) {
        from = 0, to = span;
        if (!large) from = span;
      } else if (large && is_in_place(*batch)) {
        from = 0, to = span;
      } else if (large) {
        from = 0.7 * span * packed_at / packed;
        packed_at += bytes;
        to = 0.7 * span * packed_at / packed;
        at = to;
      } else {
        at += bytes;
      }
      if (rounds && !is_local(*batch)) from = to = by_round + batch->round;
      round_sent[batch->round] = at;
      (batch->late ? late : early).push_back({batch, from, to, 0});
    }
    side.last_stamp.assign(side.receivers.size(), 0);
    for (std::size_t r = 0; r < side.receivers.size(); ++r)
      for (const Batch& batch : side.receivers[r]->batches) {
        const bool landed = batch.movers.empty();
        const auto found = round_sent.find(batch.round);
        double key = landed || found == round_sent.end() ? 2 * span : found->second + lag;
        if (rounds) key = landed ? 3 * by_round : by_round + batch.round + 0.5;
        late.push_back({&batch, key, key, ++stamp});
        side.last_stamp[r] = stamp;
      }
    for (const Batch& batch : side.own_batches) late.push_back({&batch, 4 * by_round, 4 * by_round, ++stamp});
    if (combines)
      for (std::size_t r = 0; r < side.receivers.size(); ++r)
        if (!side.last_stamp[r]) side.last_stamp[r] = stamp;
    side.stamps = Buffer<std::uint64_t>(side.device, static_cast<std::size_t>(stamp) + 1);
    fill(side.stream, side.stamps.data(), 0, side.stamps.bytes());
    side.stream.synchronize();
    Batch nothing;
    if (early.empty()) early.push_back({&nothing, 0, 0, 0});  // somebody must count the exchange
    std::vector<Scheduled> both = early;
    both.insert(both.end(), late.begin(), late.end());
    const int teams = options.knobs.teams;
    for (int b = 0; b < bindings; ++b) {
      side.outgoing.emplace_back(side.device, early, b, teams);
      side.incoming.emplace_back(side.device, late, b, teams);
      side.whole.emplace_back(side.device, both, b, teams);
    }
    if (!gates.before.empty()) side.gates = Program(side.device, {{&gates, 0, 0, 0}}, 0, 1);
    side.graphs.resize(bindings);
  }
}

}  // namespace slipstream

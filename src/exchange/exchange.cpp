#include <slipstream/exchange.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include <slipstream/error.hpp>

#include "exchange/directory.hpp"
#include "exchange/movers.hpp"
#include "exchange/plan.hpp"

namespace slipstream {
namespace {

using What = Directory::What;

constexpr std::size_t line = 128;  // bytes between signals, so that no two share a cache line
constexpr std::size_t slot_alignment = 256;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// What one device of this rank does in an exchange.
struct Side {
  Side(int index, Device device)
      : index(index), device(device), stream(device, Priority::high), before(device), after(device) {}

  int index;  // in the machine's numbering
  Device device;
  Stream stream;
  Event before, after;
  Buffer<Signal> signals;  // sequence first, then one per line
  Buffer<std::byte> slots;
  Buffer<Failure> failure;
  std::vector<std::unique_ptr<Sender>> senders;  // farthest first
  std::vector<std::unique_ptr<Receiver>> receivers;
  std::vector<MoverTable> outgoing, incoming;  // per binding
  SignalTable open, send_waits, send_posts, arrivals, consumed;

  Signal* sequence() const { return signals.data(); }
};

/// A message with its route, as planned.
struct Channel {
  const Bundle* bundle;
  Choice choice;
  Pair pair;
  Message message;
};

}  // namespace

struct Exchange::Impl {
  Impl(const Communicator& world, const Grid& grid, std::vector<ExchangeItem> wanted, ExchangeOptions chosen)
      : comm(world), grid(grid), items(std::move(wanted)), options(std::move(chosen)) {
    for (const auto& item : items) planned.push_back({item.pattern, item.field->options()});
    hash = plan_hash(grid, planned, options);
    agree();
    check_mpi(MPI_Comm_dup(comm.mpi(), &own), "duplicate a communicator for an exchange");
    for (const int device : grid.machine().devices_of_rank(grid.rank()))
      sides.push_back(std::make_unique<Side>(device, grid.machine().device(device).local));
    bundles = bundle(grid, planned, grid.rank());
    agree_on_messages();
    make_channels();
    count_bindings();
    make_landing_places();
    publish_fields();
    directory.gather(comm);
    make_ends();
    make_tables();
    comm.barrier();  // nobody stores before everybody's signals are zero
  }

  ~Impl() {
    for (auto& side : sides) {
      try {
        side->stream.synchronize();
      } catch (...) {
        // A destructor has nobody to tell; the same error was thrown where the stream was used.
      }
    }
    directory.release();
    leave_politely();
  }

  void agree() const {
    for (const auto other : comm.all_gather(static_cast<std::int64_t>(hash)))
      require(other == static_cast<std::int64_t>(hash),
              "the ranks construct different exchanges: grids, fields, patterns, routes and codecs must be the same");
  }

  /// Both ends of every message must list the same transfers.
  void agree_on_messages() const {
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
  void leave_politely() {
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

  Side& side_of(int device) {
    for (auto& side : sides)
      if (side->index == device) return *side;
    throw Error("device " + std::to_string(device) + " does not belong to this rank");
  }
  bool local(int device) const { return grid.machine().device(device).rank == grid.rank(); }

  /// Tags tell a rank's devices apart by their place among its own.
  int place_in_rank(int device) const {
    return device - grid.machine().devices_of_rank(grid.machine().device(device).rank).front();
  }

  void make_channels() {
    const Machine& machine = grid.machine();
    int most = 1;
    for (int rank = 0; rank < machine.ranks(); ++rank)
      most = std::max(most, static_cast<int>(machine.devices_of_rank(rank).size()));
    for (const auto& [key, b] : bundles.by_pair) {
      const Pair pair = pair_of(machine, b.source, b.target, planned);
      Channel channel{&b, choose(pair, options.routes), pair, Message{}};
      const MachineDevice &from = machine.device(b.source), &to = machine.device(b.target);
      channel.message = {b.source,
                         b.target,
                         from.rank,
                         to.rank,
                         place_in_rank(b.source) * most + place_in_rank(b.target),
                         hash,
                         b.bytes,
                         options.codec->wire_bytes(b.bytes),
                         options.codec,
                         own};
      // Both ways: the source stores values, the target's kernels store counters.
      if (channel.pair.same_process && !channel.pair.same_device && from.rank == grid.rank()) {
        peer_access(from.local, to.local);
        peer_access(to.local, from.local);
      }
      messages.push_back({b.source, b.target, channel.choice.route, channel.choice.reason,
                          static_cast<std::int64_t>(b.bytes), static_cast<std::int64_t>(b.legs.size())});
      host_driven |= route(channel.choice.route).needs_host();
      channels.push_back(std::move(channel));
    }
    std::stable_sort(channels.begin(), channels.end(), [](const Channel& a, const Channel& b) {
      return static_cast<int>(a.choice.route) > static_cast<int>(b.choice.route);
    });
  }

  void count_bindings() {
    bindings = 1;
    for (const auto& item : items) bindings *= item.field->options().copies;
    require(bindings <= 64, "the fields of one exchange have too many copies between them");
  }

  /// The array of each item that is current in a binding.
  int array_in(int binding, std::size_t item) const {
    for (std::size_t i = 0; i < item; ++i) binding /= items[i].field->options().copies;
    return binding % items[item].field->options().copies;
  }
  int current_binding() const {
    int binding = 0, radix = 1;
    for (const auto& item : items) {
      binding += radix * item.field->physical(0);
      radix *= item.field->options().copies;
    }
    return binding;
  }

  void make_landing_places() {
    for (auto& side : sides) {
      std::size_t signals = 1, slot_bytes = 0;
      std::vector<std::pair<const Channel*, std::size_t>> rings;
      std::vector<std::pair<Directory::Key, std::size_t>> counters;
      for (const Channel& channel : channels) {
        const Message& m = channel.message;
        if (!has_counters(channel)) continue;
        if (m.target == side->index) {
          counters.push_back({{What::full, m.target, m.source}, signals++});
          if (route(channel.choice.route).needs_slot()) {
            rings.push_back({&channel, slot_bytes});
            slot_bytes += 2 * round_up(m.wire_bytes, slot_alignment);
          }
        }
        if (m.source == side->index) counters.push_back({{What::free, m.source, m.target}, signals++});
      }
      side->signals = Buffer<Signal>(side->device, signals * line / sizeof(Signal), Memory::shared);
      if (slot_bytes) side->slots = Buffer<std::byte>(side->device, slot_bytes, Memory::shared);
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

  void publish_fields() {
    std::vector<Directory::Key> done;
    for (const Channel& channel : channels) {
      if (!route(channel.choice.route).stores_into_fields() || !local(channel.message.target)) continue;
      for (const Leg& leg : channel.bundle->legs) {
        Field& field = *items[leg.field].field;
        for (int array = 0; array < field.options().copies; ++array) {
          const Directory::Key key{What::field, channel.message.target,    -1, leg.field,
                                   array,       leg.transfer->target_block};
          const bool mapped = !channel.pair.same_process;
          const auto twin = std::find(done.begin(), done.end(), key);
          if (twin != done.end() && !mapped) continue;
          directory.publish(key, side_of(channel.message.target).device, field.array(key.block, array), mapped);
          done.push_back(key);
        }
      }
    }
  }

  Place place_of(const Leg& leg, std::int64_t block, std::byte* array) const {
    const FieldOptions& field = items[leg.field].field->options();
    Place place{array, block_shape(grid.block(block).box.extents(), field), field.type};
    place.origin += place.shape.origin * static_cast<std::int64_t>(size_of(field.type));
    return place;
  }

  std::vector<std::vector<Place>> places(const Channel& channel, bool at_source, bool through_directory, Device user) {
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

  static bool has_counters(const Channel& channel) {
    return channel.choice.route != RouteKind::kernel && !route(channel.choice.route).needs_host();
  }

  /// Sets the addresses of a message's counters and slots, as a device of this rank reaches them.
  template <class Site>
  void address_landing(const Channel& channel, Device user, Site& site) {
    const Message& m = channel.message;
    if (has_counters(channel)) {
      site.full = static_cast<Signal*>(directory.find({What::full, m.target, m.source}, user));
      site.free = static_cast<Signal*>(directory.find({What::free, m.source, m.target}, user));
    }
    if (route(channel.choice.route).needs_slot()) {
      site.slot = static_cast<std::byte*>(directory.find({What::slot, m.target, m.source}, user));
      site.ring = round_up(m.wire_bytes, slot_alignment);
    }
  }

  void make_ends() {
    for (const Channel& channel : channels) {
      const Route& way = route(channel.choice.route);
      const Message& m = channel.message;
      if (local(m.source)) {
        Side& side = side_of(m.source);
        SendSite site;
        site.device = side.device;
        site.legs = channel.bundle->legs;
        site.sources = places(channel, true, false, side.device);
        if (way.stores_into_fields()) site.targets = places(channel, false, true, side.device);
        address_landing(channel, side.device, site);
        side.senders.push_back(way.sender(m, site));
      }
      if (local(m.target)) {
        Side& side = side_of(m.target);
        ReceiveSite site;
        site.device = side.device;
        site.legs = channel.bundle->legs;
        site.targets = places(channel, false, false, side.device);
        address_landing(channel, side.device, site);
        side.receivers.push_back(way.receiver(m, site));
      }
    }
  }

  template <class Ends>
  static std::vector<MoverTable> tables(Device device, const Ends& ends, int bindings) {
    std::vector<MoverTable> result;
    for (int b = 0; b < bindings; ++b) {
      std::vector<Mover> movers;
      for (const auto& end : ends)
        if (!end->movers.empty()) movers.insert(movers.end(), end->movers[b].begin(), end->movers[b].end());
      result.emplace_back(device, std::move(movers));
    }
    return result;
  }

  template <class T, class Ends, class Member>
  static std::vector<T> joined(const Ends& ends, Member member) {
    std::vector<T> all;
    for (const auto& end : ends) all.insert(all.end(), ((*end).*member).begin(), ((*end).*member).end());
    return all;
  }

  void make_tables() {
    for (auto& side : sides) {
      side->outgoing = tables(side->device, side->senders, bindings);
      side->incoming = tables(side->device, side->receivers, bindings);
      side->open = {side->device, {}, joined<Signal*>(side->receivers, &Receiver::opened)};
      side->send_waits = {side->device, joined<Wait>(side->senders, &Sender::before), {}};
      side->send_posts = {side->device, {}, joined<Signal*>(side->senders, &Sender::after)};
      side->arrivals = {side->device, joined<Wait>(side->receivers, &Receiver::arrived), {}};
      side->consumed = {side->device, {}, joined<Signal*>(side->receivers, &Receiver::consumed)};
    }
  }

  std::uint64_t limit_ns() const { return static_cast<std::uint64_t>(options.wait_limit * 1e9); }

  void begin(std::vector<Stream>& streams) {
    require(streams.size() == sides.size(), "begin was given " + std::to_string(streams.size()) + " streams for the " +
                                                std::to_string(sides.size()) + " devices of this rank");
    require(!open, "an exchange was begun again before its end");
    check();
    ++sequence;
    open = true;
    binding = current_binding();
    for (std::size_t i = 0; i < sides.size(); ++i) {
      Side& side = *sides[i];
      streams[i].record(side.before);
      side.stream.wait(side.before);
      SignalTable::advance(side.stream, side.sequence());
      side.open.post(side.stream, side.sequence());
      for (auto& receiver : side.receivers) receiver->post(sequence);
    }
    for (auto& pointer : sides) {
      Side& side = *pointer;
      side.send_waits.wait(side.stream, side.sequence(), limit_ns(), side.failure.data(), 0);
      if (!side.outgoing[binding].empty()) side.outgoing[binding].run(side.stream, side.sequence());
      for (auto& sender : side.senders) sender->transfer(side.stream, sequence);
      side.send_posts.post(side.stream, side.sequence());
    }
  }

  bool progress() {
    bool done = true;
    if (!host_driven || !open) return done;
    for (auto& side : sides) {
      for (auto& sender : side->senders) done &= sender->progress(sequence);
      for (auto& receiver : side->receivers) done &= receiver->progress(sequence);
    }
    return done;
  }

  std::string who_waits() const {
    for (const auto& side : sides) {
      const std::string me =
          "device " + std::to_string(side->index) + " on rank " + std::to_string(grid.rank()) + " waited for ";
      for (const auto& receiver : side->receivers)
        if (const auto what = receiver->waiting_for(); !what.empty()) return me + what;
      for (const auto& sender : side->senders)
        if (const auto what = sender->waiting_for(); !what.empty()) return me + what;
    }
    return "nobody waits any more";
  }

  void drive_host_routes() {
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; !progress(); ++round) {
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > options.wait_limit)
        throw Timeout("exchange " + std::to_string(sequence) + ": " + who_waits() + " longer than " +
                      std::to_string(options.wait_limit) + " s");
      // Ranks may share cores: give them away, soon for longer.
      if (round < 64) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
  }

  void end(std::vector<Stream>& streams) {
    require(open, "an exchange was ended that was not begun");
    if (host_driven) drive_host_routes();
    open = false;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      Side& side = *sides[i];
      side.arrivals.wait(side.stream, side.sequence(), limit_ns(), side.failure.data(), 1);
      for (auto& receiver : side.receivers) receiver->deliver(side.stream, sequence);
      if (!side.incoming[binding].empty()) side.incoming[binding].run(side.stream, side.sequence());
      side.consumed.post(side.stream, side.sequence());
      side.stream.record(side.after);
      streams[i].wait(side.after);
    }
  }

  void check() {
    for (const auto& side : sides) {
      const Failure* failure = side->failure.data();
      if (!load_acquire(&failure->set)) continue;
      throw Timeout("exchange " + std::to_string(failure->sequence) + ": device " + std::to_string(side->index) +
                    " on rank " + std::to_string(grid.rank()) + " waited longer than " +
                    std::to_string(options.wait_limit) + " s for device " + std::to_string(failure->peer) +
                    " on rank " + std::to_string(grid.machine().device(static_cast<int>(failure->peer)).rank) +
                    (failure->phase == 0 ? " to free its ghosts or slot" : " to send"));
    }
  }

  Communicator comm;
  const Grid& grid;
  std::vector<ExchangeItem> items;
  ExchangeOptions options;
  std::vector<PlannedItem> planned;
  std::uint64_t hash = 0;
  MPI_Comm own = MPI_COMM_NULL;
  Bundles bundles;
  std::vector<Channel> channels;
  std::vector<MessageInfo> messages;
  Directory directory;
  std::vector<std::unique_ptr<Side>> sides;
  int bindings = 1;
  int binding = 0;
  bool host_driven = false;
  bool open = false;
  std::uint64_t sequence = 0;
};

Exchange::Exchange(const Communicator& comm, const Grid& grid, std::vector<ExchangeItem> items, ExchangeOptions options)
    : impl_(std::make_unique<Impl>(comm, grid, std::move(items), std::move(options))) {}
Exchange::~Exchange() = default;
Exchange::Exchange(Exchange&&) noexcept = default;
void Exchange::begin(std::vector<Stream>& streams) { impl_->begin(streams); }
void Exchange::end(std::vector<Stream>& streams) { impl_->end(streams); }
bool Exchange::progress() { return impl_->progress(); }
void Exchange::check() { impl_->check(); }
const std::vector<MessageInfo>& Exchange::messages() const { return impl_->messages; }
bool Exchange::needs_host() const { return impl_->host_driven; }
std::uint64_t Exchange::sequence() const { return impl_->sequence; }

std::int64_t Exchange::bytes_on(Device device) const {
  std::size_t bytes = 0;
  for (const auto& side : impl_->sides) {
    if (side->device != device) continue;
    bytes += side->signals.bytes() + side->slots.bytes();
    for (const auto& table : side->outgoing) bytes += table.bytes();
    for (const auto& table : side->incoming) bytes += table.bytes();
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace slipstream

#pragma once
// What an Exchange holds. build.cpp makes it, exchange.cpp runs it.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>

#include "exchange/calls_in_order.hpp"
#include "exchange/coding_errors_kernels.hpp"
#include "exchange/combine.hpp"
#include "exchange/directory.hpp"
#include "exchange/open_exchanges.hpp"
#include "exchange/overlaps.hpp"
#include "exchange/plan.hpp"
#include "exchange/poison_kernels.hpp"
#include "exchange/schedule.hpp"
#include "exchange/watchdog.hpp"
#include "machine/parting.hpp"
#include "route/program.hpp"
#include "route/route.hpp"

namespace slipstream {

/// From one signal to the next, so that no two share a cache line.
inline constexpr std::size_t signal_line = 128 / sizeof(Signal);

/// A message with its route, as planned.
struct Channel {
  const Bundle* bundle;
  Choice choice;
  Pair pair;
  Message message;
  SlotNeed need;
};

/// The array of an item's block.
struct ArrayName {
  int item = 0;
  ItemEnd end = ItemEnd::source;  // of an item with one field: the source
  std::int64_t block = 0;
  auto operator<=>(const ArrayName&) const = default;
};

/// Where the caller's kernels store an item's values.
struct ProducedWindows {
  std::vector<Window> list;
  Buffer<Window> table;
  Buffer<std::int32_t> first;  // of [block][component]
};

/// What one device of this rank does in an exchange.
struct Side {
  Side(int index, Device device, Arena arena)
      : index(index),
        device(device),
        arena(std::move(arena)),
        stream(device, Priority::high),
        before(device),
        after(device),
        encoded(device),
        poisoned(device) {}

  int index;  // in the machine's numbering
  Device device;
  Arena arena;  // of all memory below, but for tables
  Stream stream;
  Event before, after;
  Event encoded;         // behind all that encodes values, where ranks say at end() whether one was too large
  Event poisoned;        // behind the poisoning of what arrives, where that is asked for
  Span<Signal> signals;  // the exchange's number and whether a wait gave up, then one per line
  Span<std::byte> slots, host_slots, mapped_host_slots;
  Span<Failure> failure;
  Span<std::uint64_t> stamps;
  std::vector<std::unique_ptr<Sender>> senders;  // farthest first
  std::vector<std::unique_ptr<Receiver>> receivers;
  std::vector<std::size_t> sent, received;  // each sender's, each receiver's channel
  std::vector<int> message_stamp;           // of each receiver's message
  Combiner combiner{Device{}};
  Arrays arrays;
  std::map<ArrayName, int> array_numbers;
  std::vector<std::vector<std::byte*>> array_places;  // [array][combination]
  Span<Signal> packed;           // where values are combined: which of the senders' batches are done
  Span<Signal> decoded;          // and which of those that decode what is combined
  Span<std::byte> decodings;     // the values that they decode
  std::deque<Leg> decoded_legs;  // and what these are
  std::optional<Batch> combining;
  Program outgoing, incoming, whole, gates, opening;
  Program release;  // tells sources that their slots are poisoned and free
  std::vector<Buffer<std::int64_t>> poisoned_lists;
  std::optional<Poison> targets;                       // that are poisoned before values come
  std::optional<Poison> produced;                      // windows that are poisoned, and looked at
  std::map<std::size_t, ErrorProbe> probes;            // of senders with coded values, where errors are measured
  std::map<std::size_t, std::vector<Mover>> encoders;  // and what these encode for the way
  std::map<std::size_t, ProducedWindows> windows;      // of items that are produced
  bool transfers = false, delivers = false;
  bool encodes_late = false;  // among what begins at end()

  Signal* sequence() const { return signals.data(); }
  Signal* broken() const { return signals.data() + 1; }
};

struct Exchange::Impl {
  Impl(const Communicator& world, const Grid& grid, std::vector<ExchangeItem> wanted, ExchangeOptions chosen);
  ~Impl();

  // build.cpp
  void make();
  void check_items() const;
  void check_own_codings() const;
  void make_sides();
  void agree_on_messages() const;
  void make_channels(const std::string& gpu_mpi_refusal);
  void make_message(Channel& channel, int most_devices);
  bool wants_gpu_mpi() const;
  std::string gpu_mpi_refusal() const;
  void prove_answers();

  // prepare.cpp
  int first_free_tag() const;
  void prepare_routes();
  void set_watchdog();
  Timeout late_in_library(std::uint64_t number, std::size_t late, double seconds) const;
  void tell_of(Watchdog& teller, std::uint64_t number, std::size_t late, double seconds);
  [[noreturn]] void end_job(const std::string& why) const;
  bool over() const;
  void await_or_abandon() noexcept;
  void unwind(bool failed) noexcept;
  bool late() noexcept;
  void revoke() noexcept;
  void keep_memory();

  // landings.cpp
  void in_room_for(const char* what, const Side& side, const std::function<void()>& make) const;
  void make_landing_places();
  void make_host_landings();
  void prove_host_landings();
  void publish_fields();
  void find_words_of_writers();
  void note_generations();
  void check_generations() const;
  Landing landing_of(const Channel& channel, Device user);
  int place_in_rank(int device) const;

  // arrays.cpp
  void count_combinations();
  int copy_in(int combination, const Field& field) const;
  Field& field_of(const ArrayName& name) const;
  std::byte* address_of(const ArrayName& name, int copy, const Side& side);
  int number_of(const ArrayName& name, Side& side);
  Place place_of(const Leg& leg, ItemEnd end, Side& side);
  std::vector<Place> places(const Channel& channel, ItemEnd end, Side& side);
  static void place_arrays(Side& side);
  void check_bound();
  void check_bound(const Side& side, int index) const;
  void bind(std::size_t item, ItemEnd end, const std::vector<void*>& arrays, std::vector<Stream>& streams);

  // ends.cpp
  SendSite send_site(const Channel& channel, Side& side);
  ReceiveSite receive_site(const Channel& channel, Side& side);
  void make_ends();
  static std::vector<Wait> waits_for(Side& side, Span<Signal>& counters, const std::vector<Batch*>& batches);
  static std::vector<Wait> waits_for_packing(Side& side);
  void unpack_behind_packing(Side& side);
  void combine(Side& side);
  void decode_apart(Side& side);
  void note_transfers(Side& side);
  Schedule schedule_of(const Side& side, const Batch& opening) const;
  void make_probes(Side& side);
  void make_programs();

  // windows.cpp
  void make_windows(Side& side);
  void make_opening(Side& side, const Batch& opened);
  void require_unproduced(const char* what) const;
  void open_windows(std::vector<Stream>& streams);
  void post(std::vector<Stream>& streams);

  // poison.cpp
  void make_poison(Side& side);
  static void strip_release(Side& side, Batch& release);
  void poison(Side& side, Stream& stream);
  void poison_slots(Side& side, Stream& stream);
  std::optional<Unwritten> unwritten_here() const;
  void check_windows();

  // exchange.cpp
  Side& side_of(int device);
  bool local(int device) const { return grid.machine().device(device).rank == grid.rank(); }
  int current_combination() const;
  Pulse pulse(const Side& side) const;
  void check_streams(const std::vector<Stream>& streams) const;
  void start(std::vector<Stream>& streams);
  static bool captured(const Channel& channel);
  std::string why_not_captured() const;
  void measure_errors(Side& side, Stream& stream);
  void send(Side& side, Stream& stream, bool opens);
  void send_all(std::vector<Stream>& streams, bool opens);
  void wait_if_asked(const std::vector<Stream*>& streams);
  void transfer(const std::vector<Stream*>& streams);
  void start_transfers(const std::vector<Stream*>& streams);
  void watched(const std::vector<Stream*>& streams, const std::function<void()>& work);
  void receive(Side& side, Stream& stream);
  void deliver(const std::vector<Stream*>& streams, const std::function<void()>& work);
  void begin(std::vector<Stream>& streams);
  void end(std::vector<Stream>& streams);
  void run(std::vector<Stream>& streams);
  void queue(const std::vector<Stream*>& streams);
  bool replayed(const std::vector<Stream>& streams) const;
  const std::vector<Graph>& recording();
  void stop_recording() noexcept;
  bool drive_states();
  bool progress();
  void trace_states() const;
  std::string field_names() const;
  std::string name(std::uint64_t number) const;
  Timeout too_late(std::uint64_t number, const std::string& who, const std::string& whom, double seconds,
                   Facts facts = {}) const;
  std::pair<int, std::string> who_waits() const;  ///< the device, and for whom; empty: nobody
  void drive_host_routes();
  void check_waits();
  std::vector<double> arrival_us();

  // overflow.cpp
  void agree_on_captures();
  void mark_encoded(const std::vector<Stream*>& streams, bool late);
  void agree_on_values();
  void agree_at_end();
  void agree_now_and_then(const std::vector<Stream>& streams);
  Overflow too_large(int item) const;
  void check_values() const;
  void check();
  bool part(double seconds) noexcept;

  Communicator comm;
  const Grid& grid;
  std::vector<ExchangeItem> items;
  ExchangeOptions options;
  std::vector<PlannedItem> planned;
  std::vector<std::string> pattern_names;  // of the items, whose patterns may be gone
  std::uint64_t hash = 0;
  Bundles bundles;
  std::vector<Channel> channels;
  std::vector<MessageInfo> messages;
  std::vector<std::size_t> channel_of_message;
  Directory directory;
  /// By which devices of other ranks see that they may store no more into fields of this one, and the side that tells.
  std::vector<std::pair<Side*, Signal*>> writers;
  std::vector<std::shared_ptr<const void>> stored_by_others;        // arrays of fields
  std::vector<std::pair<const Field*, std::uint64_t>> generations;  // of the arrays that the plan has
  std::deque<ReceiveSite> receive_sites;                            // receivers' `arrived` point to their legs
  std::map<RouteKind, std::shared_ptr<RouteState>> states;          // of routes that any rank uses
  std::unique_ptr<Watchdog> watchdog;                               // where one of them waits for ever
  bool waits_in_deliver = false;                                    // one of them does so when messages are delivered
  std::vector<std::unique_ptr<Side>> sides;
  std::vector<const Field*> copied;  // fields with several copies, once each
  int combinations = 1;              // of their copies
  int combination = 0;
  std::map<int, std::vector<Graph>> recordings;  // of run(), per combination
  std::vector<const Route*> ways;                // each that a message of this rank takes, once
  bool host_driven = false, capturable = true, limited_in_graphs = true, loopable = true;
  bool transfers = false;  // some end queues work between sending and arrival
  bool produces = false;   // the caller's kernels store some item's values
  bool opened = false;     // and may now
  bool open = false;
  bool bound_anew = false;           // since it was seen that arrays are apart
  bool overlaps = false;             // values are moved onto others that are moved, too
  std::optional<Timeout> complaint;  // of the Timeout after which the host gave up
  std::uint64_t sequence = 0;
  CallsInOrder calls{"an exchange"};
  OpenExchange driven{[this] { progress(); }};
  bool coded = false;                  // values of some item may be too large for its coding
  bool told_at_end = false;            // and all ranks tell each other at end(): some rank's host drives a route, or
                                       // windows are looked at
  bool looks = false;                  // whether the caller's kernels have stored all that they promised
  std::optional<Unwritten> unwritten;  // what they have not; the same on all ranks
  int too_large_of = 0;                // 1 + the item of such a value; the same on all ranks
  bool unanswered = false;             // when this rank asked the others
  int begun_unasked = 0;               // exchanges since the ranks last asked each other, where end() does not
  std::unique_ptr<Parting> agreement;  // where they do
  std::unique_ptr<Parting> own;        // goes first
};

}  // namespace slipstream

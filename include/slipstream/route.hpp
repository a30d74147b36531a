#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/arena.hpp>
#include <slipstream/buffer.hpp>
#include <slipstream/coding.hpp>
#include <slipstream/communicator.hpp>
#include <slipstream/field.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/throttle.hpp>
#include <slipstream/transfer.hpp>
#include <slipstream/window.hpp>

namespace slipstream {

class Trace;

/// How a message travels, in the order in which the rules prefer them.
enum class RouteKind : std::uint8_t { kernel, direct, peer, colocated, nccl, nvshmem, gpu_mpi, staged };
std::string to_string(RouteKind kind);
RouteKind route_from_string(const std::string& name);
std::vector<RouteKind> all_routes();
/// Names separated by commas: "direct,staged" are these and no other; "+name" and "-name" add to and take from what
/// stands before them, or from all where nothing does. Throws Error where none is left.
std::vector<RouteKind> routes_from_string(const std::string& text);

/// How routes that the host drives gather a message's values: in the launch that serves all messages, in a launch of
/// its own, by one strided copy for each box, or by stores straight into pinned host memory.
enum class Pack : std::uint8_t { fused, per_direction, memcpy3d, zero_copy };
std::string to_string(Pack pack);
Pack pack_from_string(const std::string& name);
/// Whether what belongs to one message alone (copies, launches of its own) shares a stream with other messages.
enum class Lanes : std::uint8_t { one, per_direction };
std::string to_string(Lanes lanes);
Lanes lanes_from_string(const std::string& name);
/// What `staged` gives to MPI between nodes: a message for each pair of devices, or one for each pair of nodes, which
/// the ranks of a node lay out in host memory that they share and one of them sends.
enum class Grouping : std::uint8_t { devices, nodes };
std::string to_string(Grouping grouping);
Grouping grouping_from_string(const std::string& name);
/// By which calls of MPI the messages of `staged` and `gpu_mpi` get from rank to rank: a send and a receive for each;
/// one MPI_Alltoallv for all, that blocks or does not; or MPI_Put into windows, between two fences or under locks. All
/// but sends need the other ranks: in one call travels what all ranks send, also what ranks of a node would else hand
/// over in memory that they share. What blocks is called in Exchange::end() alone, behind a barrier that does not
/// block: a rank that does not come is a Timeout; one that stops between the barrier and the call is not, and ends with
/// the job.
enum class MpiCalls : std::uint8_t { sends, alltoallv, ialltoallv, put_fence, put_lock };
std::string to_string(MpiCalls calls);
MpiCalls mpi_calls_from_string(const std::string& name);
/// Why this MPI cannot carry messages among these ranks by such calls; empty where it can. MPI_Put needs windows, which
/// some installations of MPI cannot open. The same on all ranks; collective.
std::string refusal_of(const Communicator& comm, MpiCalls calls);

/// What can be chosen about an exchange beside its routes; the tuner sets it where the user does not.
struct Knobs {
  Pack pack = Pack::fused;
  Lanes streams = Lanes::per_direction;
  Grouping grouping = Grouping::devices;
  MpiCalls mpi = MpiCalls::sends;
  bool sync = false;  ///< the host waits after every packing and every unpacking
  int teams = 0;      ///< thread blocks of a launch; 0, and at most: as many as the device holds at once; of begin and
                      ///< end on GPUs half its multiprocessors, at most all
  std::int64_t in_place =
      -1;  ///< `direct` stores rows of at least so many bytes into ghosts, packs others; -1: by size
  /// Messages of `direct` of at most so many bytes travel in lines that carry the exchange's number, where the link
  /// keeps lines whole; -1: by size.
  std::int64_t sealed = -1;
  std::int64_t chunk = 0;       ///< bytes that are signalled (staged: copied, sent) at once; 0: by size
  std::int64_t ring = 1 << 28;  ///< most bytes of landing slots of one message
  bool operator==(const Knobs&) const = default;
};

/// A combination with a name, from J. V. Tozatti Risso, "Scalable GPU communication framework for stencil based
/// applications" (UFPR, 2017), section 4.2. gpu_pack_info: strided copies into host memory, one after the other;
/// gpu_pack_info_async: a packing kernel and a stream for each neighbour, then host memory; gpu_buffered: the same with
/// device memory given to MPI.
struct Scheme {
  RouteKind route = RouteKind::staged;
  Knobs knobs;
};
Scheme named_scheme(const std::string& name);

/// Where a landing place is one of a ring of slots: chunk `chunk` of `chunks` in exchange n lies in slot
/// ((n - 1) chunks + chunk) mod depth.
struct Ring {
  std::int64_t bytes = 0;  ///< from slot to slot; 0: no ring
  std::int32_t depth = 1;
  std::int32_t chunks = 1;
  std::int32_t chunk = 0;
};

/// Further values that a combining mover reads, in order.
struct Contribution {
  const std::byte* base = nullptr;
  std::int64_t stride[3] = {0, 0, 0};  ///< in words
  const std::int64_t* ids = nullptr;   ///< in device memory
};

/// What a mover does to values on their way: nothing, for it moves words; writes them as they travel; reads them so; or
/// both, of those that stay on a device: so they are rounded wherever they go.
enum class Recode : std::uint8_t { none, encode, decode, round };

/// Moves a dense or strided box of words, or a list of them, once per exchange. With contributions, combines them and
/// the target's own value, which is the `own`-th, from first to last. Where it encodes or decodes, it counts values,
/// and each end's strides are in its own.
struct Mover {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  /// Where an end lies in an array that may be changed for another: its number in the device's Arrays, and the address
  /// above is in the one that it was planned with.
  std::int32_t source_array = -1, target_array = -1;
  std::int64_t extent[3] = {0, 0, 0};
  std::int64_t source_stride[3] = {0, 0, 0};  ///< in words
  std::int64_t target_stride[3] = {0, 0, 0};
  const std::int64_t* source_ids = nullptr;  ///< in device memory; then extent is {count, 1, 1}
  const std::int64_t* target_ids = nullptr;
  Ring source_ring, target_ring;
  const Contribution* contributions = nullptr;  ///< in device memory
  std::int32_t contribution_count = 0;
  std::int32_t own = 0;
  Op op = Op::copy;
  DType type = DType::f32;
  int word = 4;  ///< bytes: 1, 2, 4, 8 or 16; of what is read at the source
  /// How values of `type` are written, and read as contributions.
  Recode recode = Recode::none;
  Wire wire = Wire::same;
  std::int32_t item = 0;  ///< whose values these are, to be named where one overflows
  /// One end may be lines (slipstream/signal.hpp) instead of a box; then a word is 4 bytes.
  enum class Lines : std::uint8_t { none, source, target } lines = Lines::none;
  bool free_gaps = false;  ///< what lies between the target's rows, beyond the ghosts, may be overwritten
  std::int64_t words() const { return extent[0] * extent[1] * extent[2]; }
  /// Bytes of what is written at the target.
  int target_word() const {
    if (recode == Recode::none) return word;
    return static_cast<int>(recode == Recode::encode ? size_of(wire, type) : size_of(type));
  }
};

/// What is true of a pair of devices.
struct Pair {
  bool same_device = false;  ///< one device of one process
  bool same_process = false;
  bool same_node = false;
  bool peer = false;         ///< kernels of the source may store to the target
  bool mappable = true;      ///< the target's fields can be mapped by other processes
  bool combines = false;     ///< some transfer does more than copy
  bool host = false;         ///< devices of the host backend
  bool unshared = true;      ///< neither device is used by a second rank
  bool takes_turns = false;  ///< ranks that share one of the devices use it one at a time
  bool whole_lines = false;  ///< lines that kernels of the source store reach the target in one piece
  bool exclusive = true;     ///< no device of the machine is used by a second rank
  bool one_each = true;      ///< every rank drives one device
  std::string gpu_mpi;       ///< why device memory cannot be given to MPI; empty where a message proved that it can
};

/// What the ends of one route share in an exchange: a library's communicators, memory that all ranks allocate together.
class RouteState {
 public:
  virtual ~RouteState() = default;
  /// Drives what belongs to no single message, from begin on; true when this exchange needs the host no more. Only on
  /// ranks that send or receive by the route.
  virtual bool progress(std::uint64_t) { return true; }
  /// From here on progress() may call what blocks until other ranks have come: they end exchanges in the same order.
  virtual void ending(std::uint64_t) {}
  virtual std::string waiting_for() const { return {}; }
  /// What a report adds to the reason for a message's route; empty where there is nothing to add.
  virtual std::string remark(int /*source*/, int /*target*/) const { return {}; }
  /// Lets go of what other ranks own, after the ends: they free it when all have.
  virtual void part() {}
  /// Keeps for ever what other ranks may still store to: they did not all part.
  virtual void keep_memory() {}
  /// Whether a graph may replay the message, now that it is known what memory is mapped; the same at both its ends.
  virtual bool capturable(int /*source*/, int /*target*/) const { return true; }
  /// True where what is queued waits on the devices without a limit: a watchdog calls abandon() then.
  virtual bool waits_for_ever() const { return false; }
  /// True where deliver() queues what waits without a limit.
  virtual bool waits_in_deliver() const { return false; }
  /// Ends what waits on the devices for ranks that are gone; from any thread. False where nothing can: the job must
  /// end.
  virtual bool abandon() { return true; }
};

/// All messages of one route, whoever sends them; the same on all ranks.
struct RouteSetup {
  struct Letter {
    int source = 0;  ///< devices
    int target = 0;
    std::size_t bytes = 0;
  };
  Communicator comm;
  const Machine& machine;
  std::vector<Letter> letters;  ///< by source, then target
  Knobs knobs = {};
  std::uint64_t plan = 0;
  MPI_Comm mpi = MPI_COMM_NULL;  ///< the exchange's own
  int tag = 0;                   ///< from here on no message of two devices uses it
  double patience = 30;          ///< seconds for what a library starts on all ranks together
};

/// Waits until a counter has reached the exchange's number less `lag`.
struct Wait {
  const Signal* signal = nullptr;
  std::int64_t lag = 0;
  int peer = 0;  ///< the device that sets it
};

/// The arrays that movers of one device know by number: those of fields with several copies, and those that the caller
/// may change for others. A launch reads where they are.
struct Arrays {
  int count = 0;
  int combination = 0;              ///< of the fields' copies, from begin to end
  std::vector<std::byte*> host;     ///< first bytes, [combination][array]
  std::vector<std::byte*> planned;  ///< those of the first combination, as the movers were planned
  Buffer<std::byte*> device;        ///< as host

  std::byte* const* on_host() const { return host.data() + std::ptrdiff_t{combination} * count; }
  std::byte* const* on_device() const { return device.data() + std::ptrdiff_t{combination} * count; }
};

/// One array of one block as a mover sees it.
struct Place {
  std::byte* origin = nullptr;  ///< of interior cell (0, 0, 0), component 0
  BlockShape shape;
  DType type = DType::f32;
  bool free_gaps = false;  ///< elements between rows, beyond the ghosts, are nobody's and may be overwritten
  int array = -1;          ///< its number in Arrays, where it has one
};

struct Cut;

/// Everything about one message (all transfers from one device to another) that the two ends agree on.
struct Message {
  int source = 0;  ///< devices, in the machine's numbering
  int target = 0;
  int source_rank = 0;
  int target_rank = 0;
  int tag = 0;
  std::uint64_t plan = 0;
  std::size_t bytes = 0;  ///< packed, as it travels
  /// Where the route packs it in parts, one behind the other: these, in which legs have other places than by
  /// themselves.
  std::shared_ptr<const Cut> parts;
  MPI_Comm comm = MPI_COMM_NULL;
  Knobs knobs;
  Throttle throttle;
  std::shared_ptr<RouteState> state;  ///< what the route's prepare() made
  bool combines = false;              ///< the target adds (...) what arrives, in an order over all messages
  bool answered = false;              ///< the target sends to the source too, by the same route
  bool in_place_ok = true;            ///< ghosts of the target can be addressed by the source
  bool host_shared = false;           ///< both ends can map the same host memory
  bool whole_lines = false;           ///< lines that the source stores reach the target in one piece
  bool produced = false;              ///< the caller's kernels store some of its legs
  bool overlaps = false;  ///< targets of the exchange are sources, too: nothing is stored before all is packed
  bool poison = false;    ///< nothing but what is produced reaches the target's arrays before end()

  /// All of its values lie in slots at once, which are freed by a counter.
  bool at_once() const { return combines || produced || overlaps || poison; }
  /// Also of blocks of one device.
  bool through_slots() const { return combines || overlaps; }
};

/// One transfer of one item within a message. Packed values have the order of the source's memory and are encoded.
struct Leg {
  const Transfer* transfer = nullptr;
  int item = 0;
  std::size_t offset = 0;  ///< bytes into the packed message (of its chunk)
  DType type = DType::f32;
  Layout layout = Layout::soa, target_layout = Layout::soa;
  int components = 1, target_components = 1;  ///< of the fields
  bool rebinds = false;
  Wire wire = Wire::same;  ///< how its values travel
  bool produced = false;   ///< the caller's kernels store its values: it has windows and no movers

  bool coded() const { return wire != Wire::same; }
  /// Of packed values.
  std::size_t bytes() const { return static_cast<std::size_t>(transfer->source.size()) * size_of(wire, type); }
};

/// Values that start on their way together once every wait holds; when all are there, the counters are set to the
/// exchange's number.
struct Batch {
  std::vector<Mover> movers;
  std::vector<Wait> before;
  std::vector<Signal*> after;
  int round = 0;      ///< of chunks through a ring
  bool late = false;  ///< must not run before end(): it waits for what other batches of this exchange free
  /// The values are their own signal; `peer` is the other device.
  bool sealed = false;
  int peer = -1;
};

/// The counters of a message. `full` and `free` have one counter a chunk.
struct Landing {
  std::byte* slot = nullptr;  ///< the ring at the target
  std::vector<Signal*> full;  ///< in the target's memory, set by the source
  std::vector<Signal*> free;  ///< in the source's memory, set by the target
  Signal* ready = nullptr;    ///< in the source's memory: the target's ghosts may be overwritten
  Signal* landed = nullptr;   ///< in the target's memory: its ghosts hold the new values
  std::byte* host = nullptr;  ///< SlotNeed::host_bytes of pinned memory that both ends reach; zero at first
};

/// What a wait that gave up leaves behind, in pinned memory.
struct Failure {
  std::uint64_t set = 0;  ///< 1 once the rest is written
  std::uint64_t sequence = 0;
  std::int64_t peer = -1;
  std::uint64_t overflow = 0;  ///< 1 + the item of which a value was too large for its coding
};

/// What all work of one device in an exchange shares.
struct Pulse {
  Signal* sequence = nullptr;  ///< number of the exchange, in device memory
  Failure* failure = nullptr;
  /// In device memory, beside the number: 1 once a wait gave up. From then on nothing is moved and nothing posted.
  /// Behind it: 1 once a value has overflowed.
  Signal* broken = nullptr;
  std::uint64_t limit_ns = 0;          ///< of a wait
  std::uint64_t* stamps = nullptr;     ///< device clock in ns: of the beginning, then of each batch's end
  std::byte* const* arrays = nullptr;  ///< in device memory, see Arrays
};

/// What a route works with at the sending end.
struct SendSite {
  Device device;
  Arena arena{device};  ///< for all memory that the end needs, of any kind
  std::vector<Leg> legs;
  /// Place of each leg's block here and, for routes that store into it, at the target.
  std::vector<Place> sources, targets;
  Landing landing;
  Pulse pulse;  ///< without stamps
  const Arrays* arrays = nullptr;
  Trace* trace = nullptr;  ///< of the exchange, where one is kept
};

struct ReceiveSite {
  Device device;
  Arena arena{device};
  std::vector<Leg> legs;
  std::vector<Place> targets;  // of each leg
  Landing landing;
  Pulse pulse;
  const Arrays* arrays = nullptr;
  Trace* trace = nullptr;
};

/// Where the packed values of a leg lie once they have arrived; for messages that are combined.
struct Arrived {
  const Leg* leg = nullptr;
  const std::byte* values = nullptr;
};

/// What of a route's work runs in the one launch of its device, and what around it. A begin runs, in stream order, the
/// batches of all senders, then transfer() of each sender and receiver.
class Sender {
 public:
  virtual ~Sender() = default;
  std::vector<Batch> batches;
  /// What transfer() packs by launches of its own though Pack::fused was asked for; for who looks at what is sent.
  std::vector<Mover> apart;
  std::vector<Window> windows;  ///< of legs that are produced; of arrays in Arrays, base is an address in the first
  virtual bool transfers() const { return false; }
  virtual void transfer(Stream&, std::uint64_t) {}
  /// After transfer() of all: orders the stream after what this one queued elsewhere.
  virtual void join(Stream&) {}
  /// Drives what needs the host; true when this sequence needs it no more.
  virtual bool progress(std::uint64_t) { return true; }
  virtual std::string waiting_for() const { return {}; }
  /// Of device memory that it holds.
  virtual std::int64_t bytes() const { return 0; }
  /// Poisons what values are packed into (exchange/poison.hpp), before anybody packs.
  virtual void poison(Stream&) {}
};

/// The receiving end. At begin, before anything is sent: set `opened`, post(). At end: progress() until true, wait for
/// `gate`, deliver(), then the batches. Where the message is combined, batches hold no movers and `arrived` says what
/// came.
class Receiver {
 public:
  virtual ~Receiver() = default;
  std::vector<Signal*> opened;
  std::vector<Wait> gate;
  std::vector<Batch> batches;
  std::vector<Arrived> arrived;
  virtual void post(Stream&, std::uint64_t) {}
  /// True where transfer() queues work at begin.
  virtual bool transfers() const { return false; }
  virtual void transfer(Stream&, std::uint64_t) {}
  virtual bool progress(std::uint64_t) { return true; }
  /// True where deliver() queues work that must run before the batches.
  virtual bool delivers() const { return false; }
  virtual void deliver(Stream&, std::uint64_t) {}
  virtual std::string waiting_for() const { return {}; }
  virtual std::int64_t bytes() const { return 0; }
  /// Poisons where the next message lands, once this one has been unpacked and before its source is told so.
  virtual void poison(Stream&) {}
};

/// How a message's landing slots are laid out; both ends compute the same.
struct SlotNeed {
  std::size_t slot_bytes = 0;  ///< of one slot; 0: no slots
  int depth = 1;               ///< slots in the ring
  int chunks = 0;              ///< counters full and free
  bool in_place = false;       ///< counters ready and landed, and the target's fields at the source
  std::size_t host_bytes = 0;  ///< of pinned host memory of the target that the source reaches too
};

/// Calls of a library between its making and close() start together. One that goes unclosed, in an exception, closes
/// too.
class RouteGroup {
 public:
  virtual ~RouteGroup() = default;
  /// `here` is some device of this process.
  virtual void close(Device here) = 0;
};

/// One way to move a message. Stateless: ends hold the state.
class Route {
 public:
  virtual ~Route() = default;
  virtual RouteKind kind() const = 0;
  /// Two tables of facts, (question, answer), as `slipstream info routes` prints them.
  using Facts = std::vector<std::pair<std::string, std::string>>;
  virtual Facts capability() const = 0;
  virtual Facts execution() const = 0;
  /// Empty where the route can serve the pair, else the reason why not.
  virtual std::string refusal(const Pair& pair) const = 0;
  /// Message::parts of a message of these legs, of which all else is known.
  virtual std::shared_ptr<const Cut> parts(const Message&, const std::vector<Leg>&) const { return nullptr; }
  virtual SlotNeed need(const Message&, const std::vector<Leg>&) const { return {}; }
  virtual bool needs_host() const = 0;
  /// Whether a graph may replay messages between these two.
  virtual bool capturable(const Pair&) const { return !needs_host(); }
  /// Whether what waits in a graph that is replayed gives up when its time is over.
  virtual bool limited_in_graphs(const Pair& pair) const { return capturable(pair); }
  virtual std::unique_ptr<Sender> sender(const Message& message, const SendSite& site) const = 0;
  virtual std::unique_ptr<Receiver> receiver(const Message& message, const ReceiveSite& site) const = 0;
  /// Collective, before the ends of an exchange are made, where any rank uses the route. A rank that fails alone does
  /// so after the last step that it does with the others, or makes all fail.
  virtual std::shared_ptr<RouteState> prepare(const RouteSetup&) const { return nullptr; }
  /// Around the transfers of one begin, for libraries that want to see them together; null for all others.
  virtual std::unique_ptr<RouteGroup> open_group() const { return nullptr; }
};

const Route& route(RouteKind kind);

}  // namespace slipstream

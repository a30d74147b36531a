#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/codec.hpp>
#include <slipstream/field.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/transfer.hpp>

namespace slipstream {

/// How a message travels, in the order in which the rules prefer them.
enum class RouteKind : std::uint8_t { kernel, direct, peer, colocated, staged };
std::string to_string(RouteKind kind);
RouteKind route_from_string(const std::string& name);
std::vector<RouteKind> all_routes();

/// Moves a dense or strided box of words, or a list of them, once per exchange. Where a side is a slot of a ring of
/// two, its address moves by `*_ring` bytes in odd sequences.
struct Mover {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  std::int64_t extent[3] = {0, 0, 0};
  std::int64_t source_stride[3] = {0, 0, 0};  ///< in words
  std::int64_t target_stride[3] = {0, 0, 0};
  const std::int64_t* source_ids = nullptr;  ///< in device memory; then extent is {count, 1, 1}
  const std::int64_t* target_ids = nullptr;
  std::int64_t source_ring = 0;
  std::int64_t target_ring = 0;
  std::int64_t first_tile = 0;  ///< set when a launch is put together
  int word = 4;                 ///< bytes: 1, 2, 4, 8 or 16
};

/// What is true of a pair of devices.
struct Pair {
  bool same_device = false;  ///< one device of one process
  bool same_process = false;
  bool same_node = false;
  bool peer = false;     ///< kernels of the source may store to the target
  bool mappable = true;  ///< the target's fields can be mapped by other processes
};

/// Waits until a counter has reached the exchange's sequence less `lag`.
struct Wait {
  const Signal* signal = nullptr;
  std::int64_t lag = 0;
  int peer = 0;  ///< the device that sets it
};

/// One array of one block as a mover sees it.
struct Place {
  std::byte* origin = nullptr;  ///< of interior cell (0, 0, 0), component 0
  BlockShape shape;
  DType type = DType::f32;
};

/// Everything about one message (all transfers from one device to another) that the two ends agree on.
struct Message {
  int source = 0;  ///< devices, in the machine's numbering
  int target = 0;
  int source_rank = 0;
  int target_rank = 0;
  int tag = 0;
  std::uint64_t plan = 0;
  std::size_t bytes = 0;       ///< packed
  std::size_t wire_bytes = 0;  ///< as the codec writes it
  std::shared_ptr<const Codec> codec;
  MPI_Comm comm = MPI_COMM_NULL;
};

/// One transfer of one field within a message, with a place at each end that this process can address.
struct Leg {
  const Transfer* transfer = nullptr;
  int field = 0;
  std::size_t offset = 0;  ///< bytes into the packed message
  DType type = DType::f32;
};

/// What a route works with at the sending end.
struct SendSite {
  Device device;
  std::vector<Leg> legs;
  /// Place of a leg's block here and, for routes that store into it, at the target; per binding of field arrays.
  std::vector<std::vector<Place>> sources, targets;  // [binding][leg]
  std::byte* slot = nullptr;                         ///< the target's ring of two slots of wire_bytes each, mapped here
  std::size_t ring = 0;                              ///< bytes from the first slot to the second
  Signal* full = nullptr;                            ///< in the target's memory
  const Signal* free = nullptr;                      ///< in this device's memory
};

struct ReceiveSite {
  Device device;
  std::vector<Leg> legs;
  std::vector<std::vector<Place>> targets;  // [binding][leg]
  std::byte* slot = nullptr;
  std::size_t ring = 0;
  const Signal* full = nullptr;
  Signal* free = nullptr;  ///< in the source's memory, mapped here
};

/// The sending end. The plan runs, in stream order: wait for `before`, the movers, transfer(), set `after`.
class Sender {
 public:
  virtual ~Sender() = default;
  std::vector<Wait> before;
  std::vector<std::vector<Mover>> movers;  ///< per binding
  std::vector<Signal*> after;
  virtual void transfer(Stream&, std::uint64_t) {}
  /// Drives what needs the host; true when this sequence needs it no more.
  virtual bool progress(std::uint64_t) { return true; }
  virtual std::string waiting_for() const { return {}; }
};

/// The receiving end. At begin: set `opened`, post(). At end: progress() until true, wait for `arrived`, deliver(),
/// the movers, set `consumed`.
class Receiver {
 public:
  virtual ~Receiver() = default;
  std::vector<Signal*> opened;
  std::vector<Wait> arrived;
  std::vector<std::vector<Mover>> movers;
  std::vector<Signal*> consumed;
  virtual void post(std::uint64_t) {}
  virtual bool progress(std::uint64_t) { return true; }
  /// Queues what must run between arrival and the movers.
  virtual void deliver(Stream&, std::uint64_t) {}
  virtual std::string waiting_for() const { return {}; }
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
  virtual bool needs_slot() const = 0;
  /// True where the sender must address the target's fields.
  virtual bool stores_into_fields() const = 0;
  virtual bool needs_host() const = 0;
  virtual std::unique_ptr<Sender> sender(const Message& message, const SendSite& site) const = 0;
  virtual std::unique_ptr<Receiver> receiver(const Message& message, const ReceiveSite& site) const = 0;
};

const Route& route(RouteKind kind);

}  // namespace slipstream

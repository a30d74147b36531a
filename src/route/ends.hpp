#pragma once
// The two ends of a message: what they are made from, and what an exchange asks of them.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/arena.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/window.hpp>

#include "route/message.hpp"
#include "route/mover.hpp"

namespace slipstream {

class Trace;

/// Waits until a counter has reached the exchange's number less `lag`.
struct Wait {
  const Signal* signal = nullptr;
  std::int64_t lag = 0;
  int peer = 0;  ///< the device that sets it
  /// The batch stores into a field: it must not where the exchange has broken since.
  bool into_field = false;
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

/// Record of a wait that gave up, in pinned memory.
struct Failure {
  std::uint64_t set = 0;  ///< 1 once the rest is written
  std::uint64_t sequence = 0;
  std::int64_t peer = -1;      ///< the device that was waited for; -1: a neighbour has ended its exchange
  std::uint64_t overflow = 0;  ///< 1 + the item of which a value was too large for its coding
};

/// What all work of one device in an exchange shares.
struct Pulse {
  Signal* sequence = nullptr;  ///< number of the exchange, in device memory
  Failure* failure = nullptr;
  /// In device memory, beside the number: not 0 once a wait gave up, or a neighbour that did has ended its exchange.
  /// From then on nothing is moved and nothing posted. Behind it: 1 once a value has overflowed.
  Signal* broken = nullptr;
  std::uint64_t limit_ns = 0;          ///< of a wait
  std::uint64_t* stamps = nullptr;     ///< device clock in ns: of the beginning, then of each batch's end
  std::byte* const* arrays = nullptr;  ///< in device memory, see Arrays
};

/// What a route works with at the sending end.
struct SendSite {
  Device device;
  Arena arena{device};  ///< for all memory that the end needs, of any kind
  std::vector<Leg> legs = {};
  /// Place of each leg's block here and, for routes that store into it, at the target.
  std::vector<Place> sources = {}, targets = {};
  Landing landing = {};
  Pulse pulse = {};  ///< without stamps
  const Arrays* arrays = nullptr;
  Trace* trace = nullptr;  ///< of the exchange, where one is kept
};

struct ReceiveSite {
  Device device;
  Arena arena{device};
  std::vector<Leg> legs = {};
  std::vector<Place> targets = {};  // of each leg
  Landing landing = {};
  Pulse pulse = {};
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

}  // namespace slipstream

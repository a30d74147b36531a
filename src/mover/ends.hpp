#pragma once
// Interface of a message's sender and receiver, and the data that they are made from.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/arena.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/window.hpp>

#include "mover/message.hpp"
#include "mover/mover.hpp"

namespace slipstream {

class Trace;

/// Device work waits until a neighbour's counter of exchanges reaches this exchange's number, less `lag` exchanges.
struct Wait {
  const Signal* signal = nullptr;
  std::int64_t lag = 0;
  int peer = 0;  ///< number of the device that sets the counter waited for
  /// Whether the work behind this wait stores into a field. It must not, if the exchange has failed meanwhile.
  bool into_field = false;
};

/// Movers (copies) that start together once all waits hold. After all values are stored, the counters are set to the
/// exchange's number.
struct Batch {
  std::vector<Mover> movers = {};
  std::vector<Wait> before = {};
  std::vector<Signal*> after = {};
  int round = 0;  ///< index of the chunk (part of a message) that these copies pack or unpack
  /// whether these copies start in end(), not in begin(): they wait for receive buffers that other copies must empty
  bool late = false;
  /// Id of a set of batches (lists of copies) that share completion counters; 0: none is shared. The counters are
  /// set once all batches of the set have stored their values.
  int family = 0;
  /// Whether values travel in latency-optimised packets, which need no counter. `peer`: the device at the other end.
  bool in_packets = false;
  int peer = -1;
};

/// Receive buffer of a message and its counters. `full` and `free` have one counter per chunk.
struct ReceiveBuffer {
  std::byte* slot = nullptr;    ///< first of the receive buffers used in turn, in the target's memory
  std::vector<Signal*> full;    ///< counters by chunk in the target's memory: the source has filled the buffer
  std::vector<Signal*> free;    ///< counter per chunk, in the source's memory: the target has emptied the buffer
  Signal* ready = nullptr;      ///< counter in the source's memory: the target's ghosts may be overwritten
  Signal* delivered = nullptr;  ///< counter in the target's memory: its ghosts hold the new values
  std::byte* host = nullptr;    ///< pinned host memory that both ends reach, zeroed; SlotNeed::host_bytes
};

/// Record of a timed-out wait, in pinned memory.
struct Failure {
  std::uint64_t set = 0;  ///< 1 once all other members are written
  std::uint64_t sequence = 0;
  std::int64_t peer = -1;      ///< device that was waited for; -1: a neighbour has ended its exchange
  std::uint64_t overflow = 0;  ///< 1 + index of the exchanged field with a value too large for its coding; 0: none
};

/// State of an exchange that all work of one device shares.
struct Pulse {
  Signal* sequence = nullptr;  ///< address in device memory of the sequence number of the exchange's current call
  Failure* failure = nullptr;
  /// Failure flag, in device memory next to `sequence`. It becomes nonzero once a wait has timed out, or once a
  /// neighbour that timed out has ended its exchange. Nothing is moved and no counter is set from then on. The next
  /// word is 1 once a value has overflowed.
  Signal* broken = nullptr;
  std::uint64_t limit_ns = 0;  ///< timeout of a wait in nanoseconds
  /// times by the device clock in nanoseconds: beginning of the launch, then end of each batch
  std::uint64_t* stamps = nullptr;
  std::byte* const* arrays = nullptr;  ///< addresses of replaceable arrays, in device memory; see Arrays
};

/// Arguments with which a route makes a message's sender or receiver.
struct EndSite {
  Device device;
  Arena arena{device};  ///< source of all memory that the sender or receiver allocates, of any kind
  std::vector<Leg> legs = {};
  /// Addresses of the field blocks at this end of the message; a sender that stores into the target has both ends'.
  std::vector<Place> sources = {}, targets = {};
  ReceiveBuffer receive_buffer = {};
  Pulse pulse = {};  ///< sequence number, failure flags and timeout of the exchange, shared by a device's work
  const Arrays* arrays = nullptr;
  Trace* trace = nullptr;  ///< timeline of the work of host and device; null if the exchange records none
};

/// Received packed values of one transfer, for messages whose values are combined with (such as added to) the target's.
struct Arrived {
  const Leg* leg = nullptr;
  const std::byte* values = nullptr;
};

/// Common parts of a message's sender and receiver. Batches of copies run in one launch per device.
class MessageEnd {
 public:
  virtual ~MessageEnd() = default;
  std::vector<Batch> batches;
  /// Whether this end of the message queues copies or library calls at the exchange's begin, by transfer().
  virtual bool transfers() const { return false; }
  virtual void transfer(Stream&, std::uint64_t) {}
  /// Does this message's work on the host. Returns true once this exchange needs no more of it.
  virtual bool progress(std::uint64_t) { return true; }
  virtual std::string waiting_for() const { return {}; }
  /// Bytes of device memory that this sender or receiver of a message holds.
  virtual std::int64_t bytes() const { return 0; }
  /// Debug mode: fills memory with NaN (exchange/poison.hpp). A sender fills the buffer of packed values before
  /// anything is packed. A receiver fills the receive buffer of the next message. This happens after this message is
  /// unpacked, and before its source is told that the buffer is free.
  virtual void poison(Stream&) {}
};

/// Sender of a message. When an exchange begins, the copies in `batches` of all senders are queued first on the stream.
/// Then follows transfer() of each sender and receiver, which queues copies or library calls.
class Sender : public MessageEnd {
 public:
  /// Packing copies that transfer() launches, not the launch for all messages; listed to measure coding errors.
  std::vector<Mover> apart;
  std::vector<Window> windows;  ///< views of the target memory into which the caller's kernels store values

  /// Called after transfer() of all messages. Makes the stream wait for work that this sender queued on other streams.
  virtual void join(Stream&) {}
};

/// Receiver of a message. At the start, before anything is sent, the exchange sets the counters `opened`, to tell that
/// ghosts may be overwritten, and calls post(). At the end it repeats progress() until true, calls deliver() and runs
/// the copies in `batches`. Values that it must combine, as by addition, are not copied but listed in `arrived`.
class Receiver : public MessageEnd {
 public:
  std::vector<Signal*> opened;
  std::vector<Arrived> arrived;

  virtual void post(Stream&, std::uint64_t) {}
  /// Whether deliver() must queue work, such as a library's wait, before the copies that unpack the message.
  virtual bool delivers() const { return false; }
  virtual void deliver(Stream&, std::uint64_t) {}
};

/// Sizes and counts of a message's slots (receive buffers). Both ends compute the same.
struct SlotNeed {
  std::size_t slot_bytes = 0;  ///< size of a receive buffer (slot) in bytes; 0: the message uses none
  int depth = 1;               ///< number of slots in the ring of receive buffers
  int chunks = 0;              ///< number of chunks into which the message is cut; each has counters of its own
  bool in_place = false;       ///< whether the source stores directly into ghosts, which needs further counters
  std::size_t host_bytes = 0;  ///< bytes of pinned host memory of the target that the source reaches too
};

}  // namespace slipstream

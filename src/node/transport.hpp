#pragma once
// Transports a message between two processes: through MPI, or through host memory that both processes map. The host
// drives both transports, which do not depend on how the bytes were packed.
#include <algorithm>
#include <memory>

#include "mover/message.hpp"
#include "mover/mover.hpp"
#include "mover/route_state.hpp"

namespace slipstream {

/// Name of the sender or receiver of a message, for error messages.
std::string end_of(int device, int rank);

/// Pieces (ranges of bytes) in which a message is copied and sent. Both ends compute the same.
struct Pieces {
  std::size_t bytes = 0, each = 1;
  int count() const { return static_cast<int>((bytes + each - 1) / each); }
  std::size_t at(int piece) const { return each * static_cast<std::size_t>(piece); }
  std::size_t size(int piece) const { return std::min(each, bytes - at(piece)); }
};
/// Cuts a message into parts. `pipelined`: while one part is sent, others are copied. A throttled link uses small
/// parts, so that the work after the last one, which the link does not delay, stays short.
Pieces pieces_of(std::size_t bytes, const Knobs& knobs, bool pipelined, const Throttle& throttle);
inline Pieces pieces_of(const Message& m, bool pipelined) { return pieces_of(m.bytes, m.knobs, pipelined, m.throttle); }

/// Header of every message. It turns mismatched calls into errors instead of wrong values.
struct Envelope {
  std::uint64_t plan = 0;
  std::uint64_t sequence = 0;
};
/// Checks a message's envelope (header). Throws Error if it belongs to another exchange.
void verify(const Message& message, const Envelope& envelope, std::uint64_t sequence);

/// Buffers for the values of a message in successive exchanges, used in turn, at one end of the message.
struct PlaceRing {
  std::byte* base = nullptr;
  std::size_t stride = 0;
  int depth = 1;
  std::byte* of(std::uint64_t sequence) const { return base + (sequence - 1) % depth * stride; }
  Ring ring() const { return depth > 1 ? Ring{static_cast<std::int64_t>(stride), depth, 1, 0} : Ring{}; }
};

class Outlet {
 public:
  virtual ~Outlet() = default;
  /// Starts an exchange. Called before all other functions of this sender.
  virtual void begin(std::uint64_t) {}
  /// Whether the values of this exchange may be written to their buffer now.
  virtual bool room(std::uint64_t) { return true; }
  /// Sends a range of bytes (a piece) of the packed message. Calls follow the pieces' order, exchange after exchange.
  virtual void send(int piece, std::uint64_t sequence) = 0;
  /// Makes progress with sending the parts of the message (ranges of bytes) that were passed to send().
  virtual void drive() {}
  /// Whether all parts of the message (ranges of bytes) that were passed to send() have left.
  virtual bool sent() { return true; }
  /// Ends sending. Returns false if MPI may still read the buffers.
  virtual bool settle() { return true; }
  /// Ranks besides sender and receiver on which the message depends; empty if there are none.
  virtual std::string escort() const { return {}; }
};

/// Wraps a sender so that it sends as late as a slow link would. Returns the sender itself without throttling.
std::unique_ptr<Outlet> throttled(std::unique_ptr<Outlet> outlet, const Pieces& pieces, const Throttle& throttle);

class Inlet {
 public:
  virtual ~Inlet() = default;
  /// Allows the sender to write the receive buffer of this exchange.
  virtual void open(std::uint64_t sequence) = 0;
  /// Whether the receive buffer of the next exchange should be opened before that exchange begins.
  virtual bool early() const = 0;
  /// Number of pieces (consecutive byte ranges) that arrived. Throws Error if the sender is at another exchange.
  virtual int arrived(std::uint64_t sequence) = 0;
  /// Ends receiving. Returns false if MPI may still write the buffers.
  virtual bool settle() { return true; }
  virtual std::string escort() const { return {}; }
};

/// Transport by persistent MPI requests: from the send buffer `place`, to receive buffers used in turn (`places`).
std::unique_ptr<Outlet> mpi_outlet(const Message& message, const Pieces& pieces, std::byte* place);
std::unique_ptr<Inlet> mpi_inlet(const Message& message, const Pieces& pieces, const PlaceRing& places);

/// Transport through shared memory. The memory holds counters, then two receive buffers.
std::size_t host_buffer_bytes(const Message& message);
PlaceRing host_places(const Message& message, std::byte* buffer);
std::unique_ptr<Outlet> mapped_outlet(const Message& message, const Pieces& pieces, std::byte* buffer);
std::unique_ptr<Inlet> mapped_inlet(const Message& message, const Pieces& pieces, std::byte* buffer);

/// Messages that a route transports together, in shared buffers.
class Mail : public RouteState {
 public:
  virtual bool carries(const Message& message) const = 0;
  /// Send buffer and receive buffers of a message that travels in shared buffers.
  virtual PlaceRing outgoing_place(const Message& message) const = 0;
  virtual PlaceRing incoming_places(const Message& message) const = 0;
  virtual std::unique_ptr<Outlet> outlet(const Message& message) = 0;
  virtual std::unique_ptr<Inlet> inlet(const Message& message) = 0;
};

/// Makes the shared buffers (Mail) by which each pair of nodes exchanges a single message per direction. Collective.
std::shared_ptr<RouteState> node_mail(const RouteSetup& setup);

/// Owner of the shared buffers in which a message travels with others; null if the message has buffers of its own.
inline Mail* mail_of(const Message& message) {
  auto* mail = dynamic_cast<Mail*>(message.state.get());
  return mail && mail->carries(message) ? mail : nullptr;
}

}  // namespace slipstream

#pragma once
// How the bytes of a message get from one process to another once they lie where the host may take them from: through
// MPI, or through host memory that both processes map. The host drives both; neither knows what packed the bytes.
#include <algorithm>
#include <memory>

#include "route/message.hpp"
#include "route/mover.hpp"

namespace slipstream {

/// As errors name an end of a message.
std::string end_of(int device, int rank);

/// The pieces in which a message is copied and sent; both ends compute the same.
struct Pieces {
  std::size_t bytes = 0, each = 1;
  int count() const { return static_cast<int>((bytes + each - 1) / each); }
  std::size_t at(int piece) const { return each * static_cast<std::size_t>(piece); }
  std::size_t size(int piece) const { return std::min(each, bytes - at(piece)); }
};
/// `pipelined`: the pieces of a message are under way in different stages at once. A slow link brings small ones: what
/// follows the last one is not its doing.
Pieces pieces_of(std::size_t bytes, const Knobs& knobs, bool pipelined, const Throttle& throttle);
inline Pieces pieces_of(const Message& m, bool pipelined) { return pieces_of(m.bytes, m.knobs, pipelined, m.throttle); }

/// What every message starts with, so that mismatched calls are errors and not wrong numbers.
struct Envelope {
  std::uint64_t plan = 0;
  std::uint64_t sequence = 0;
};
/// Throws Error where the envelope is not that of this exchange.
void verify(const Message& message, const Envelope& envelope, std::uint64_t sequence);

/// Where an exchange's values lie at an end: a ring of places from `base`, one after the other in turn.
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
  /// An exchange has begun; before anything else of it.
  virtual void begin(std::uint64_t) {}
  /// Whether the place of this exchange may be written.
  virtual bool room(std::uint64_t) { return true; }
  /// The piece lies in its place. Pieces of an exchange are sent in order, exchanges too.
  virtual void send(int piece, std::uint64_t sequence) = 0;
  /// Does what has become due of what was sent.
  virtual void drive() {}
  /// Whether all that was sent has left.
  virtual bool sent() { return true; }
  /// At the end: false where MPI may still read the places.
  virtual bool settle() { return true; }
  /// Whom the message also depends on, beside its two ends; empty where on nobody.
  virtual std::string escort() const { return {}; }
};

/// Sends through another outlet, as late as a slow link would. Itself the other where nothing is slowed.
std::unique_ptr<Outlet> throttled(std::unique_ptr<Outlet> outlet, const Pieces& pieces, const Throttle& throttle);

class Inlet {
 public:
  virtual ~Inlet() = default;
  /// The place of this exchange may be written.
  virtual void open(std::uint64_t sequence) = 0;
  /// True where the place of the next exchange should be opened before it begins.
  virtual bool early() const = 0;
  /// Pieces that lie in their place, in order. Throws Error where the sender is in another exchange.
  virtual int arrived(std::uint64_t sequence) = 0;
  /// At the end: false where MPI may still write the places.
  virtual bool settle() { return true; }
  virtual std::string escort() const { return {}; }
};

/// Values are sent from `place` and received in `places`, by requests that are made once.
std::unique_ptr<Outlet> mpi_outlet(const Message& message, const Pieces& pieces, std::byte* place);
std::unique_ptr<Inlet> mpi_inlet(const Message& message, const Pieces& pieces, const PlaceRing& places);

/// In memory that both ends reach: counters, then two places.
std::size_t host_landing_bytes(const Message& message);
PlaceRing host_places(const Message& message, std::byte* landing);
std::unique_ptr<Outlet> mapped_outlet(const Message& message, const Pieces& pieces, std::byte* landing);
std::unique_ptr<Inlet> mapped_inlet(const Message& message, const Pieces& pieces, std::byte* landing);

}  // namespace slipstream

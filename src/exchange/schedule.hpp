#pragma once
// Order in which one device's launch sends, receives and combines values.
#include <map>
#include <vector>

#include "mover/ends.hpp"
#include "mover/program.hpp"

namespace slipstream {

/// Batches (copies that wait for the same signals) of one device in one exchange.
struct Traffic {
  const Batch* opening = nullptr;  ///< batch that signals neighbours that ghosts may be overwritten
  std::vector<const Batch*> outgoing;
  std::vector<std::vector<const Batch*>> incoming;  ///< batches that unpack each incoming message
  /// Batches that combine received values, in the order in which thread blocks should take them.
  std::vector<const Batch*> combining;
  /// Index in `incoming` of the one message that a batch completes: an outgoing batch that is a local message, or a
  /// combining batch that reads no other message.
  std::map<const Batch*, std::size_t> completing;
  int depth = 0;  ///< slots of the shortest ring of receive buffers that is smaller than its message; 0: there is none
};

/// Order of batches. Those to other devices come first and keep the link busy. Local copies are spread between them.
/// Messages are unpacked somewhat after this device sent the same bytes, since neighbours progress alike. If rings are
/// smaller than their messages, the order is by rounds, the same on all devices. Every slot is then emptied shortly
/// before it is needed.
struct Schedule {
  explicit Schedule(const Traffic& traffic);
  std::vector<Scheduled> early;  ///< batches that may run before end()
  std::vector<Scheduled> late;
  std::vector<int> message_stamp;  ///< index of each incoming message's arrival time; 0: none
  int stamps = 0;                  ///< highest index of a recorded time, at which an incoming message was complete
};

}  // namespace slipstream

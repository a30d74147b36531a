#pragma once
// Order in which one device's launch sends, receives and combines values.
#include <map>
#include <vector>

#include "mover/ends.hpp"
#include "mover/program.hpp"

namespace slipstream {

/// Batches (copies that wait for the same signals) of one device in one exchange.
struct Traffic {
  const Batch* opening = nullptr;  ///< work that signals to neighbours that they may overwrite this device's ghosts
  std::vector<const Batch*> outgoing;
  std::vector<std::vector<const Batch*>> incoming;  ///< batches that unpack each incoming message
  /// Batches of copies that combine (such as add) received values, in the order in which thread blocks take them.
  std::vector<const Batch*> combining;
  /// For each batch of copies whose end completes one incoming message: the message's index in `incoming`. The batch
  /// copies that message within the device, or combines its values and those of no other message.
  std::map<const Batch*, std::size_t> completing;
  int depth = 0;  ///< least capacity, in chunks, of receive buffers that hold only part of a message; 0: none
};

/// Order of a device's batches (copies that wait for the same signals). Batches for other devices come first and keep
/// the link busy; local copies are spread between them. A message is unpacked somewhat after this device sent as many
/// bytes, since neighbours progress alike. If receive buffers are smaller than their messages, all devices handle
/// the chunks of messages in the same order. Each buffer is then emptied shortly before its next chunk.
struct Schedule {
  explicit Schedule(const Traffic& traffic);
  std::vector<Scheduled> early;  ///< batches of copies, in order, that may run before the exchange's end()
  std::vector<Scheduled> late;
  std::vector<int> message_stamp;  ///< index of each incoming message's arrival time; 0: none
  int stamps = 0;                  ///< highest index of a recorded time, at which an incoming message was complete
};

}  // namespace slipstream

#pragma once
// Order in which one device's launch sends and receives.
#include <map>
#include <vector>

#include "route/ends.hpp"
#include "route/program.hpp"

namespace slipstream {

/// Batches of one device in one exchange.
struct Traffic {
  const Batch* opening = nullptr;  ///< signals neighbours that ghosts may be overwritten
  std::vector<const Batch*> outgoing;
  std::vector<std::vector<const Batch*>> incoming;  ///< batches of each incoming message
  /// Outgoing batches that are local messages, with the index of the same message in `incoming`.
  std::map<const Batch*, std::size_t> completing;
  const Batch* combining = nullptr;  ///< combines values of several messages
  int depth = 0;                     ///< slots of the shortest ring that is smaller than its message; 0: there is none
};

/// Batches to other devices come first and keep the link busy. Local copies are spread between them. Messages are
/// unpacked somewhat after this device sent the same bytes, since neighbours progress alike. If rings are smaller than
/// their messages, the order is by rounds, the same on all devices. Every slot is then emptied shortly before it is
/// needed.
struct Schedule {
  explicit Schedule(const Traffic& traffic);
  std::vector<Scheduled> early;  ///< may run before end()
  std::vector<Scheduled> late;
  std::vector<int> message_stamp;  ///< stamp of each incoming message, shared by all its batches; 0: none
  int stamps = 0;                  ///< the highest stamp
};

}  // namespace slipstream

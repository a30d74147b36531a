#pragma once
// The order in which one device's launch sends and receives.
#include <map>
#include <vector>

#include "route/ends.hpp"
#include "route/program.hpp"

namespace slipstream {

/// The batches of one device in one exchange.
struct Traffic {
  const Batch* opening = nullptr;  ///< tells neighbours that ghosts may be overwritten
  std::vector<const Batch*> outgoing;
  std::vector<std::vector<const Batch*>> incoming;  ///< of each message that arrives
  /// Outgoing batches that are messages of the device to itself, and which of those that arrive they are.
  std::map<const Batch*, std::size_t> completing;
  const Batch* combining = nullptr;  ///< of values of several messages
  int depth = 0;  ///< slots of the shortest ring among those that are shorter than their messages; 0: none is
};

/// What leaves the device goes first and keeps the link busy; copies that stay on it are spread between; what arrives
/// is unpacked somewhat after this device sent the like, when its neighbours will have, too. Where rings are shorter
/// than their messages the order is by rounds, the same on all devices, so that every slot is emptied before it is
/// asked for, and not much before.
struct Schedule {
  explicit Schedule(const Traffic& traffic);
  std::vector<Scheduled> early;  ///< may run before end()
  std::vector<Scheduled> late;
  std::vector<int> message_stamp;  ///< of each message that arrives: that of all its batches; 0: it has none
  int stamps = 0;                  ///< the highest
};

}  // namespace slipstream

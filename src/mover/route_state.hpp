#pragma once
// State that the senders and receivers of one route share in an exchange.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/route.hpp>
#include <slipstream/throttle.hpp>

namespace slipstream {

class PrivateCommunicator;

/// State that the senders and receivers of one route share, such as a library's communicator or symmetric memory.
class RouteState {
 public:
  virtual ~RouteState() = default;
  /// Does work of the route that belongs to no single message, from begin on. Returns true once this exchange needs no
  /// more of it. Called only on ranks that send or receive by the route.
  virtual bool progress(std::uint64_t) { return true; }
  /// Tells the route that the rank now waits for the end of an exchange. From then on progress(), which drives the
  /// route, may make blocking collective calls, because all ranks end exchanges in the same order.
  virtual void ending(std::uint64_t) {}
  virtual std::string waiting_for() const { return {}; }
  /// Text that a report adds to the reason for a message's route, for a source and a target device; may be empty.
  virtual std::string remark(int, int) const { return {}; }
  /// Releases memory of other ranks, after senders and receivers. Owners free it once all ranks have released it.
  virtual void leave() {}
  /// Keeps for ever the memory that other ranks may still write, because not all of them have left.
  virtual void keep_memory() {}
  /// Whether a graph may replay the message between two devices. Both ends answer alike, once they have mapped memory.
  virtual bool capturable(int, int) const { return true; }
  /// Whether queued work waits on the device without a timeout. A watchdog then calls abandon().
  virtual bool waits_for_ever() const { return false; }
  /// Whether receivers queue work, by deliver(), that waits on the device without a timeout.
  virtual bool waits_in_deliver() const { return false; }
  /// Ends waits on the device for ranks that are gone; may be called from any thread. Returns false if that is
  /// impossible: the job must then end.
  virtual bool abandon() { return true; }
};

/// Arguments for a route's set-up. `letters`: its messages that this rank sends or receives, by source, then target.
struct RouteSetup {
  struct Letter {
    int source = 0;  ///< numbers of the source and target device
    int target = 0;
    std::size_t bytes = 0;
    auto operator<=>(const Letter&) const = default;
  };
  Communicator comm;
  const Machine& machine;
  std::vector<Letter> letters;
  Knobs knobs = {};
  Throttle throttle = {};
  std::uint64_t plan = 0;
  PrivateCommunicator* own = nullptr;  ///< communicator for messages of this exchange alone
  double timeout = 30;  ///< seconds to wait for neighbours, and for libraries that start on all ranks together
};

}  // namespace slipstream

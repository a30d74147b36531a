#pragma once
// A way to move messages.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/route.hpp>

#include "route/ends.hpp"

namespace slipstream {

/// What the ends of one route share in an exchange: a library's communicators, memory that all ranks allocate together.
class RouteState {
 public:
  virtual ~RouteState() = default;
  /// Drives what belongs to no single message, from begin on; true when this exchange needs the host no more. Only on
  /// ranks that send or receive by the route.
  virtual bool progress(std::uint64_t) { return true; }
  /// From here on progress() may call what blocks until other ranks have come: they end exchanges in the same order.
  virtual void ending(std::uint64_t) {}
  virtual std::string waiting_for() const { return {}; }
  /// What a report adds to the reason for a message's route; empty where there is nothing to add.
  virtual std::string remark(int /*source*/, int /*target*/) const { return {}; }
  /// Lets go of what other ranks own, after the ends: they free it when all have.
  virtual void part() {}
  /// Keeps for ever what other ranks may still store to: they did not all part.
  virtual void keep_memory() {}
  /// Whether a graph may replay the message, now that it is known what memory is mapped; the same at both its ends.
  virtual bool capturable(int /*source*/, int /*target*/) const { return true; }
  /// True where what is queued waits on the devices without a limit: a watchdog calls abandon() then.
  virtual bool waits_for_ever() const { return false; }
  /// True where deliver() queues what waits without a limit.
  virtual bool waits_in_deliver() const { return false; }
  /// Ends what waits on the devices for ranks that are gone; from any thread. False where nothing can: the job must
  /// end.
  virtual bool abandon() { return true; }
};

/// The messages of one route that this rank sends or receives.
struct RouteSetup {
  struct Letter {
    int source = 0;  ///< devices
    int target = 0;
    std::size_t bytes = 0;
  };
  Communicator comm;
  const Machine& machine;
  std::vector<Letter> letters;
  Knobs knobs = {};
  Throttle throttle = {};
  std::uint64_t plan = 0;
  MPI_Comm mpi = MPI_COMM_NULL;  ///< the exchange's own
  int tag = 0;                   ///< from here on no message of two devices uses it
  double patience = 30;          ///< seconds for what a library starts on all ranks together
};

/// The messages of all ranks, by source, then target. Only for what all ranks lay out together: it grows with them.
/// Collective.
std::vector<RouteSetup::Letter> letters_of_all(const RouteSetup& setup);

/// Calls of a library between its making and close() start together. One that goes unclosed, in an exception, closes
/// too.
class RouteGroup {
 public:
  virtual ~RouteGroup() = default;
  /// `here` is some device of this process.
  virtual void close(Device here) = 0;
};

/// One way to move a message. Stateless: ends hold the state.
class Route {
 public:
  virtual ~Route() = default;
  virtual RouteKind kind() const = 0;
  virtual std::string name() const = 0;
  virtual RouteTraits traits() const = 0;
  /// Two tables of facts, (question, answer), as `slipstream info routes` prints them.
  using Facts = std::vector<std::pair<std::string, std::string>>;
  virtual Facts capability() const = 0;
  virtual Facts execution() const = 0;
  /// Empty where the route can serve the pair, else the reason why not.
  virtual std::string refusal(const Pair& pair) const = 0;
  /// Message::parts of a message of these legs, of which all else is known.
  virtual std::shared_ptr<const Cut> parts(const Message&, const std::vector<Leg>&) const { return nullptr; }
  virtual SlotNeed need(const Message&, const std::vector<Leg>&) const { return {}; }
  bool needs_host() const { return traits().needs_host; }
  /// Whether a graph may replay messages between these two.
  virtual bool capturable(const Pair&) const { return !needs_host(); }
  /// Whether what waits in a graph that is replayed gives up when its time is over.
  virtual bool limited_in_graphs(const Pair& pair) const { return capturable(pair); }
  virtual std::unique_ptr<Sender> sender(const Message& message, const SendSite& site) const = 0;
  virtual std::unique_ptr<Receiver> receiver(const Message& message, const ReceiveSite& site) const = 0;
  /// Collective, before the ends of an exchange are made, where any rank uses the route. A rank that fails alone does
  /// so after the last step that it does with the others, or makes all fail.
  virtual std::shared_ptr<RouteState> prepare(const RouteSetup&) const { return nullptr; }
  /// Around the transfers of one begin, for libraries that want to see them together; null for all others.
  virtual std::unique_ptr<RouteGroup> open_group() const { return nullptr; }
};

/// Makes a route known as long as it lives: one stands in the file of each, and none needs another line.
class KnownRoute {
 public:
  explicit KnownRoute(const Route& route);
  ~KnownRoute();
  KnownRoute(const KnownRoute&) = delete;
  KnownRoute& operator=(const KnownRoute&) = delete;

 private:
  RouteKind kind_;
};

const Route& route(RouteKind kind);

}  // namespace slipstream

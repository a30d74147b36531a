#pragma once
// Interface of routes. A route is one way to transport messages.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/route.hpp>

#include "route/ends.hpp"

namespace slipstream {

class PrivateCommunicator;

/// State that the ends of one route share in an exchange, such as a library's communicator or symmetric memory.
class RouteState {
 public:
  virtual ~RouteState() = default;
  /// Does work that belongs to no single message, from begin on. Returns true once this exchange needs no more of it.
  /// Called only on ranks that send or receive by the route.
  virtual bool progress(std::uint64_t) { return true; }
  /// Tells that the exchange ends: progress() may now make blocking collective calls, because all ranks end exchanges
  /// in the same order.
  virtual void ending(std::uint64_t) {}
  virtual std::string waiting_for() const { return {}; }
  /// Text that a report adds to the reason for a message's route; may be empty.
  virtual std::string remark(int /*source*/, int /*target*/) const { return {}; }
  /// Releases memory of other ranks, after the ends are destroyed. Owners free it once all ranks have released it.
  virtual void leave() {}
  /// Keeps for ever the memory that other ranks may still write, because not all of them have left.
  virtual void keep_memory() {}
  /// Whether a graph may replay the message. Called once mappings are known; the same at both ends.
  virtual bool capturable(int /*source*/, int /*target*/) const { return true; }
  /// Whether queued work waits on the device without a timeout. A watchdog then calls abandon().
  virtual bool waits_for_ever() const { return false; }
  /// Whether deliver() queues work that waits without a timeout.
  virtual bool waits_in_deliver() const { return false; }
  /// Ends waits on the device for ranks that are gone; may be called from any thread. Returns false if that is
  /// impossible: the job must then end.
  virtual bool abandon() { return true; }
};

/// Messages of one route that this rank sends or receives, by source, then target.
struct RouteSetup {
  struct Letter {
    int source = 0;  ///< source and target device
    int target = 0;
    std::size_t bytes = 0;
  };
  Communicator comm;
  const Machine& machine;
  std::vector<Letter> letters;
  Knobs knobs = {};
  Throttle throttle = {};
  std::uint64_t plan = 0;
  PrivateCommunicator* own = nullptr;  ///< communicator for messages of this exchange alone
  double timeout = 30;  ///< timeout in seconds for libraries that start on all ranks together, and for neighbours
};

/// Group of library calls that start together in close(). The destructor closes it if an exception was thrown.
class RouteGroup {
 public:
  virtual ~RouteGroup() = default;
  /// Starts the calls of the group. `here`: any device of this process.
  virtual void close(Device here) = 0;
};

/// Library that a route loads where it is found.
struct RouteLibrary {
  std::string file;
  std::string missing;  ///< reason why the library cannot be used; empty if it can
};

/// Answers about a route, which `slipstream info routes` prints. It leaves out questions without an answer.
struct RouteFacts {
  std::string between = {}, how = {};
  std::string codings = "all, in the kernel that packs";
  std::string origin_of_memory = "any", ranks_per_device = "any", devices_per_rank = "any";
  std::string between_nodes = {}, between_ranks = {};
  std::string capturable = "yes", repeated = "yes";
  std::string work_in_begin = "queues kernels", work_in_end = "queues kernels";
  std::string holds = {};
  std::string rebindable = "yes, by Exchange::bind";
  std::string after_timeout = "old ghost values; the exchange is unusable";
};

/// One way to transport messages. Routes are stateless; their ends hold the state.
class Route {
 public:
  virtual ~Route() = default;
  virtual RouteKind kind() const = 0;
  virtual std::string name() const = 0;
  virtual RouteTraits traits() const = 0;
  virtual RouteFacts facts() const = 0;
  /// Both tables of facts, as (question, answer).
  using Table = std::vector<std::pair<std::string, std::string>>;
  Table capability() const;
  Table execution() const;
  virtual std::optional<RouteLibrary> library() const { return {}; }
  /// Reason why the route cannot serve the pair; empty if it can.
  virtual std::string refusal(const Pair& pair) const = 0;
  /// Computes Message::parts for a message with these legs. All other members of the message are set.
  virtual std::shared_ptr<const Cut> parts(const Message&, const std::vector<Leg>&) const { return nullptr; }
  virtual SlotNeed need(const Message&, const std::vector<Leg>&) const { return {}; }
  bool needs_host() const { return traits().needs_host; }
  /// Whether a graph may replay messages of this pair.
  virtual bool capturable(const Pair&) const { return !needs_host(); }
  /// Whether waits in a replayed graph have a timeout.
  virtual bool limited_in_graphs(const Pair& pair) const { return capturable(pair); }
  virtual std::unique_ptr<Sender> sender(const Message& message, const EndSite& site) const = 0;
  virtual std::unique_ptr<Receiver> receiver(const Message& message, const EndSite& site) const = 0;
  /// Collective; called before the ends of an exchange are created, if any rank uses the route. A rank that fails alone
  /// must do so after the last collective step, or make all ranks fail.
  virtual std::shared_ptr<RouteState> prepare(const RouteSetup&) const { return nullptr; }
  /// Makes a group for the transfers of one begin, for libraries that need one; null for all others.
  virtual std::unique_ptr<RouteGroup> open_group() const { return nullptr; }
};

/// A route with these ends. `arguments` follow the message and the site in their constructors.
template <class SenderEnd, class ReceiverEnd, auto... arguments>
class RouteOf : public Route {
 public:
  std::unique_ptr<Sender> sender(const Message& message, const EndSite& site) const override {
    return std::make_unique<SenderEnd>(message, site, arguments...);
  }
  std::unique_ptr<Receiver> receiver(const Message& message, const EndSite& site) const override {
    return std::make_unique<ReceiverEnd>(message, site, arguments...);
  }
};

/// Registers a route for the lifetime of this object. Each route's file defines one, so no central list is needed.
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

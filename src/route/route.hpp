#pragma once
// Interface of routes. A route is one way to transport messages between devices.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/route.hpp>

#include "mover/ends.hpp"
#include "mover/route_state.hpp"

namespace slipstream {

/// Group of library calls that start together in close(). The destructor closes it if an exception was thrown.
class RouteGroup {
 public:
  virtual ~RouteGroup() = default;
  /// Starts the group's calls of a communication library, such as NCCL. `here`: any device of this process.
  virtual void close(Device here) = 0;
};

/// File of a library that a route loads where it is found.
struct RouteLibrary {
  std::string file;
  std::string missing;  ///< reason why the library cannot be used; empty if it can
};

/// Properties of a route as texts, which `slipstream info routes` prints. Empty ones are left out.
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

/// One way to transport messages. Routes are stateless; their senders and receivers hold the state.
class Route {
 public:
  Route(RouteKind kind, std::string name, RouteTraits traits, RouteFacts facts = {})
      : kind_(kind), name_(std::move(name)), traits_(traits), facts_(std::move(facts)) {}
  virtual ~Route() = default;
  RouteKind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  const RouteTraits& traits() const { return traits_; }
  /// Tables of the route's properties, as (question, answer): what it can do, and how it runs.
  using Table = std::vector<std::pair<std::string, std::string>>;
  Table capability() const;
  Table execution() const;
  virtual std::optional<RouteLibrary> library() const { return {}; }
  /// Reason why the route cannot serve a pair of devices; empty if it can.
  virtual std::string refusal(const Pair& pair) const = 0;
  /// Division of a message, given its transfers, into parts that are packed one after another; null: a single part.
  virtual std::shared_ptr<const Cut> parts(const Message&, const std::vector<Leg>&) const { return nullptr; }
  virtual SlotNeed need(const Message&, const std::vector<Leg>&) const { return {}; }
  bool needs_host() const { return traits_.needs_host; }
  /// Whether a graph may replay messages of this pair of devices.
  virtual bool capturable(const Pair&) const { return !needs_host(); }
  /// Whether waits in a replayed graph have a timeout.
  virtual bool limited_in_graphs(const Pair& pair) const { return capturable(pair); }
  virtual std::unique_ptr<Sender> sender(const Message& message, const EndSite& site) const = 0;
  virtual std::unique_ptr<Receiver> receiver(const Message& message, const EndSite& site) const = 0;
  /// Prepares a route's state; called before the senders and receivers of an exchange are created, if any rank uses the
  /// route. A rank that fails alone must do so after the last collective step, or make all ranks fail. Collective.
  virtual std::shared_ptr<RouteState> prepare(const RouteSetup&) const { return nullptr; }
  /// Opens a group for the messages of one exchange, which a route's library (NCCL) starts together; null: no need.
  virtual std::unique_ptr<RouteGroup> open_group() const { return nullptr; }

 private:
  RouteKind kind_;
  std::string name_;
  RouteTraits traits_;
  RouteFacts facts_;
};

/// A route whose sender and receiver classes are template arguments.
template <class SenderEnd, class ReceiverEnd>
class RouteOf : public Route {
 public:
  using Route::Route;
  std::unique_ptr<Sender> sender(const Message& message, const EndSite& site) const override {
    return std::make_unique<SenderEnd>(message, site);
  }
  std::unique_ptr<Receiver> receiver(const Message& message, const EndSite& site) const override {
    return std::make_unique<ReceiverEnd>(message, site);
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

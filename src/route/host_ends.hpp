#pragma once
// Sender and receiver of the routes staged and gpu_mpi: two state machines driven by the host. The sender packs, copies
// to host memory (staged only) and sends piece by piece. The receiver does the reverse. It has two receive buffers in
// turn, so that begin never waits for a device.
#include "route/route.hpp"

namespace slipstream {

/// Base class of the routes staged and gpu_mpi, whose senders and receivers are driven by the host.
class HostRoute : public Route {
 public:
  /// `staged`: messages go through host memory.
  HostRoute(RouteKind kind, const char* name, RouteTraits traits, RouteFacts facts, bool staged)
      : Route(kind, name, traits, std::move(facts)), staged_(staged) {}
  std::unique_ptr<Sender> sender(const Message& message, const EndSite& site) const override;
  std::unique_ptr<Receiver> receiver(const Message& message, const EndSite& site) const override;

 private:
  bool staged_;
};

}  // namespace slipstream

#pragma once
// Messages that a route transports together, in shared buffers.
#include <memory>

#include "mover/route_state.hpp"
#include "node/transport.hpp"

namespace slipstream {

class Mail : public RouteState {
 public:
  virtual bool carries(const Message& message) const = 0;
  /// Send buffer and receive buffers of a message that travels in shared buffers.
  virtual PlaceRing outgoing_place(const Message& message) const = 0;
  virtual PlaceRing incoming_places(const Message& message) const = 0;
  virtual std::unique_ptr<Outlet> outlet(const Message& message) = 0;
  virtual std::unique_ptr<Inlet> inlet(const Message& message) = 0;
};

/// The object whose shared buffers carry a message; null if the message has buffers of its own.
inline Mail* mail_of(const Message& message) {
  auto* mail = dynamic_cast<Mail*>(message.state.get());
  return mail && mail->carries(message) ? mail : nullptr;
}

}  // namespace slipstream

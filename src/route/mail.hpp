#pragma once
// Messages that a route carries together, in memory of its own.
#include <memory>

#include "route/carriage.hpp"
#include "route/route.hpp"

namespace slipstream {

class Mail : public RouteState {
 public:
  virtual bool carries(const Message& message) const = 0;
  /// Where a message's values lie before and after their way; it must be carried.
  virtual PlaceRing outgoing_place(const Message& message) const = 0;
  virtual PlaceRing incoming_places(const Message& message) const = 0;
  virtual std::unique_ptr<Outlet> outlet(const Message& message) = 0;
  virtual std::unique_ptr<Inlet> inlet(const Message& message) = 0;
};

/// The state that a route's prepare() made, where it carries the message; else null.
inline Mail* mail_of(const Message& message) {
  auto* mail = dynamic_cast<Mail*>(message.state.get());
  return mail && mail->carries(message) ? mail : nullptr;
}

}  // namespace slipstream

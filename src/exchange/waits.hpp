#pragma once
// Timeouts of the waits of one rank's exchange for its neighbours. No call communicates with other ranks.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/plan.hpp"
#include "exchange/watchdog.hpp"

namespace slipstream {

/// Waits of one exchange: by its devices, by libraries and by its host. After a timeout the exchange moves nothing
/// more, because received values may be incomplete. Plan and communicator must outlive the object.
class Waits {
 public:
  Waits(const Communicator& comm, const Plan& plan) : comm_(comm), plan_(plan) {}

  /// Adds a device of this rank, by its number in the machine, with its record of a timed-out wait. Devices come in the
  /// order of streams.
  void add(int device, const Failure* told) { devices_.push_back({device, told}); }
  /// Starts a thread that ends library waits without a timeout of their own. Called once, if the rank has devices.
  void guard(const RouteStates& states);

  /// Checks the waits so far: throws Timeout if one has timed out.
  void check() const;
  bool late() const noexcept;
  /// Throws the timeout error of a wait, and keeps it, so that each later check() throws it too.
  [[noreturn]] void give_up(const Timeout& timeout);
  /// 1 + the highest index of an item whose value overflowed its coding, in the work that has run; 0: none.
  int too_large() const;

  /// Queues work. A watchdog thread covers it if a library may wait in it, unless a stream is being captured.
  void watched(std::uint64_t number, const std::vector<Stream*>& streams, const std::function<void()>& work);
  /// Queues work that receives messages. A watchdog limits its time, if a communication library may wait in it.
  void watched_delivery(std::uint64_t number, const std::vector<Stream*>& streams, const std::function<void()>& work);
  /// Waits until all work has finished. After the timeout, cancels the waits of libraries. If that is impossible, the
  /// job ends.
  void finish(std::uint64_t number, const std::function<bool()>& over) noexcept;

 private:
  struct OfDevice {
    int index;
    const Failure* told;
  };
  Timeout late_in_library(std::uint64_t number, std::size_t device, double seconds) const;
  void abandon(const std::string& why, bool all) const;

  const Communicator& comm_;
  const Plan& plan_;
  std::vector<OfDevice> devices_;
  RouteStates states_;
  std::unique_ptr<Watchdog> watchdog_;  // thread that reports overdue waits in libraries; null if none waits for ever
  bool waits_in_deliver_ = false;       // whether some communication library waits when messages are delivered
  std::optional<Timeout> complaint_;    // timeout error that the host found
};

}  // namespace slipstream

#pragma once
// A rank keeps what it has waited for in vain. It asks no other rank.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/plan.hpp"
#include "exchange/watchdog.hpp"

namespace slipstream {

/// Waits of one exchange, by its devices, by libraries, and by its host. Once one has given up, the exchange does no
/// more: what others sent last is not to be trusted. Plan and communicator must outlive it.
class Waits {
 public:
  Waits(const Communicator& comm, const Plan& plan) : comm_(comm), plan_(plan) {}

  /// A device of this rank, by its number in the machine, which tells there where it gave up. In the order of streams.
  void add(int device, const Failure* told) { devices_.push_back({device, told}); }
  /// From here on a thread ends what these wait for without a limit of their own. Once, where there are devices.
  void guard(const RouteStates& states);

  /// Throws Timeout where some wait has given up.
  void check() const;
  bool late() const noexcept;
  /// Throws that, and so does check() from here on.
  [[noreturn]] void give_up(const Timeout& timeout);
  /// 1 + the greatest item of which a device found a value too large for its coding, in what has run; 0: none.
  int too_large() const;

  /// Queues work; watched where a library may wait in it, unless a stream is being captured.
  void watched(std::uint64_t number, const std::vector<Stream*>& streams, const std::function<void()>& work);
  /// The same of work that receives, where libraries wait in it only then.
  void watched_delivery(std::uint64_t number, const std::vector<Stream*>& streams, const std::function<void()>& work);
  /// Waits until all of it is over, and has libraries give up where it does not end in time. Where one cannot, the job
  /// ends.
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
  std::unique_ptr<Watchdog> watchdog_;  // where one of them waits for ever
  bool waits_in_deliver_ = false;       // one of them does so when messages are delivered
  std::optional<Timeout> complaint_;    // after which the host gave up
};

}  // namespace slipstream

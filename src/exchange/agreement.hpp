#pragma once
// The ranks of an exchange tell each other what all of them must know. They move no value.
#include <functional>
#include <memory>
#include <optional>

#include <slipstream/communicator.hpp>

#include "exchange/plan.hpp"
#include "exchange/waits.hpp"
#include "machine/agree.hpp"
#include "machine/parting.hpp"

namespace slipstream {

/// Every call is collective, but where it says not, and throws the same code on all ranks, or on none. Its
/// arguments must outlive it.
class Agreement {
 public:
  /// `unwritten`: the error that names a place that this rank's kernels have left, or none.
  Agreement(const Communicator& comm, const Plan& plan, Waits& waits, std::function<Problem()> unwritten);

  // Set-up
  /// Carries messages of this exchange alone. Not collective.
  Parting& own() { return own_; }
  /// Seconds in which a library starts. Not collective.
  double patience() const;
  /// Compares both ends of each message: transfers, route and layout. Throws mismatch.
  void compare_messages();
  /// Prepares the routes that any rank uses, each on all ranks. Where one fails, `states` has those before it.
  void prepare_routes(RouteStates& states);
  /// Where values may not get through, none captures a plan that some rank cannot. Returns whether one graph may hold
  /// several exchanges.
  bool settle_captures(Plan& plan);

  // Values that did not get through
  /// Whether all ranks tell each other at end(): some rank's host drives a route, or windows are looked at. Not
  /// collective, as check().
  bool told_at_end() const { return told_at_end_; }
  /// Throws what all ranks know: Overflow, Unwritten.
  void check(std::uint64_t number) const;
  /// Asks all ranks. Throws Timeout, too, where some do not come.
  void ask(std::uint64_t number);
  /// Asks where end() does not, and no rank knows of any value yet.
  void ask_last(std::uint64_t number);
  /// Behind what encodes values, of which `encoded` tells whether it has run: a device's own waits end first.
  void ask_at_end(std::uint64_t number, const std::function<bool()>& encoded);
  /// At the beginning of an exchange, whose devices the hosts do not wait for: now and then.
  void ask_now_and_then(std::uint64_t number);

  /// Waits so long for others to end the exchange, too; true where all did.
  bool part(double seconds) noexcept;

 private:
  Overflow too_large(std::uint64_t number, int item) const;

  const Communicator& comm_;
  const Plan& plan_;
  Waits& waits_;
  std::function<Problem()> unwritten_here_;
  Parting own_;
  std::unique_ptr<Parting> values_;  // where values may not get through
  bool told_at_end_ = false;
  int too_large_of_ = 0;                // 1 + the item of such a value; the same on all ranks
  std::optional<Unwritten> unwritten_;  // the same on all ranks
  bool unanswered_ = false;             // when this rank asked the others
  int begun_unasked_ = 0;               // exchanges since
};

}  // namespace slipstream

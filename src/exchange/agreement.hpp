#pragma once
// Ranks of an exchange agree on its set-up, and tell each other of values that overflowed their coding or are missing.
#include <functional>
#include <memory>
#include <optional>

#include <slipstream/communicator.hpp>

#include "exchange/plan.hpp"
#include "exchange/waits.hpp"
#include "machine/agree.hpp"
#include "machine/private_communicator.hpp"

namespace slipstream {

/// Agreements between the ranks of an exchange. Calls are collective unless stated otherwise. They throw the same code
/// on all ranks, or on none. Constructor arguments must outlive the object.
class Agreement {
 public:
  /// Ranks agree on an exchange's `plan`. `unwritten` returns an error if the caller's kernels left a value unstored.
  Agreement(const Communicator& comm, const Plan& plan, Waits& waits, std::function<Problem()> unwritten);

  // Set-up of the exchange
  /// Communicator for messages of this exchange alone. Not collective.
  PrivateCommunicator& own() { return own_; }
  /// Timeout in seconds for starting a library. Not collective.
  double timeout() const;
  /// Compares the plans of both ends of each message: transfers, route and layout. Throws Error (mismatch).
  void compare_messages();
  /// Prepares all routes that any rank uses, on all ranks. If a route fails, `states` has those prepared before.
  void prepare_routes(RouteStates& states);
  /// Where values may overflow their coding or stay unwritten, either all ranks capture the exchange as a CUDA graph or
  /// none does. Returns whether one graph may contain several exchanges.
  bool settle_captures(Plan& plan);

  // Lost values are overflows of codings, and values that the caller's kernels should have stored but did not.
  /// Whether all ranks tell each other of lost values at every end(). They do if some rank's host drives a route, or if
  /// the exchange checks what the caller's kernels stored. Not collective; nor is check().
  bool told_at_end() const { return told_at_end_; }
  /// Throws Overflow or Unwritten, the same on all ranks, if the ranks know that an exchange lost values.
  void check(std::uint64_t number) const;
  /// Asks all ranks whether values overflowed their coding or were never stored. Throws Timeout if a rank is silent.
  void ask(std::uint64_t number);
  /// Asks all ranks whether encoded values overflowed, if end() does not ask. Does nothing if an overflow is known.
  void ask_last(std::uint64_t number);
  /// Asks all ranks whether values overflowed their coding or were never stored, once `encoded` returns true: the
  /// kernels that pack messages have run. The timeout is twice that of a wait on the device.
  void ask_at_end(std::uint64_t number, const std::function<bool()>& encoded);
  /// Asks all ranks, once every `asked_every` exchanges, whether values were lost: too large for their coding, or never
  /// stored. Hosts do not wait for their devices here.
  void ask_now_and_then(std::uint64_t number);

  /// Waits up to `seconds` for the other ranks to end the exchange. Returns true if all did.
  bool leave(double seconds) noexcept;

 private:
  Overflow too_large(std::uint64_t number, int item) const;

  const Communicator& comm_;
  const Plan& plan_;
  Waits& waits_;
  std::function<Problem()> unwritten_here_;
  PrivateCommunicator own_;
  std::unique_ptr<PrivateCommunicator> values_;  // for reports of overflowed or unstored values; null: none possible
  bool told_at_end_ = false;
  int too_large_of_ = 0;  // 1 + index of a field whose encoded value overflowed; 0: none; the same on all ranks
  std::optional<Unwritten> unwritten_;  // error if the caller's kernels left values unstored; the same on all ranks
  bool unanswered_ = false;             // some rank did not tell in time whether values overflowed or were not stored
  int begun_unasked_ = 0;               // number of exchanges since ranks last asked one another for overflowed values
};

}  // namespace slipstream

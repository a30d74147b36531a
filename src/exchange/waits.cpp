#include "exchange/waits.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include <slipstream/error.hpp>

#include "machine/timeout.hpp"
#include "node/transport.hpp"

namespace slipstream {

void Waits::guard(const RouteStates& states) {
  states_ = states;
  if (devices_.empty()) return;
  for (const auto& [kind, state] : states_) waits_in_deliver_ |= state->waits_in_deliver();
  if (std::none_of(states_.begin(), states_.end(), [](const auto& entry) { return entry.second->waits_for_ever(); }))
    return;
  watchdog_ = std::make_unique<Watchdog>(
      plan_.options.wait_limit, [this](Watchdog& teller, std::uint64_t number, std::size_t late, double seconds) {
        const Timeout timeout = late_in_library(number, late, seconds);
        teller.complain(timeout);
        abandon(timeout.what(), false);
      });
}

void Waits::check() const {
  if (complaint_) throw Timeout(*complaint_);
  if (watchdog_) watchdog_->check();
  const int rank = plan_.grid.rank();
  for (const auto& [index, told] : devices_) {
    if (!load_acquire(&told->set)) continue;
    const int peer = static_cast<int>(told->peer);
    if (peer < 0)
      throw Timeout(
          plan_.name(told->sequence) + ": " + end_of(index, rank) +
              " moved nothing, for a neighbour has ended its exchange after an error; that rank's message says "
              "why",
          {{"device", index}, {"rank", rank}, {"sequence", told->sequence}});
    const int peer_rank = plan_.grid.machine().device(peer).rank;
    throw plan_.too_late(told->sequence, end_of(index, rank) + " waited", end_of(peer, peer_rank),
                         plan_.options.wait_limit, {{"device", index}, {"peer", peer}, {"peer_rank", peer_rank}});
  }
}

bool Waits::late() const noexcept {
  try {
    check();
  } catch (const Error&) {
    return true;
  }
  return false;
}

void Waits::give_up(const Timeout& timeout) {
  complaint_ = timeout;
  throw Timeout(timeout);
}

int Waits::too_large() const {
  int found = 0;
  for (const OfDevice& device : devices_)
    found = std::max(found, static_cast<int>(load_acquire(&device.told->overflow)));
  return found;
}

void Waits::watched(std::uint64_t number, const std::vector<Stream*>& streams, const std::function<void()>& work) {
  if (!watchdog_) return work();
  watchdog_->watch(number, streams, work);
}

void Waits::watched_delivery(std::uint64_t number, const std::vector<Stream*>& streams,
                             const std::function<void()>& work) {
  waits_in_deliver_ ? watched(number, streams, work) : work();
}

/// A wait with a timeout, since a library's kernels would wait for a dead rank for ever.
void Waits::finish(std::uint64_t number, const std::function<bool()>& over) noexcept {
  // Saves the watchdog's timeout error before the watchdog is destroyed.
  try {
    check();
  } catch (const Error& error) {
    complaint_ = Timeout(error.what(), error.facts());
  }
  watchdog_.reset();
  if (asked_until(over, plan_.options.wait_limit) || devices_.empty()) return;
  complaint_ = late_in_library(number, 0, plan_.options.wait_limit);
  abandon(complaint_->what(), true);
}

/// Timeout error of a wait within a library. The library does not tell for which neighbour a device waits.
Timeout Waits::late_in_library(std::uint64_t number, std::size_t device, double seconds) const {
  const auto place = [&](int of) { return end_of(of, plan_.grid.machine().device(of).rank); };
  const int me = devices_[device].index;
  std::set<int> others;
  for (const Channel& channel : plan_.channels) {
    const Message& m = channel.message;
    if (!m.state || !m.state->waits_for_ever()) continue;
    if (m.target == me) others.insert(m.source);
    if (m.source == me) others.insert(m.target);
  }
  others.erase(me);
  std::string whom;
  for (const int other : others) whom += (whom.empty() ? "" : " or ") + place(other);
  return plan_.too_late(number, place(me) + " waited", whom, seconds, {{"device", me}});
}

/// Ends the job if a wait cannot be cancelled. Every thread that synchronised the stream would block for ever.
void Waits::abandon(const std::string& why, bool all) const {
  bool ended = true;
  for (const auto& [kind, state] : states_)
    if (all || state->waits_for_ever()) ended &= state->abandon();
  if (ended) return;
  std::fprintf(stderr, "rank %d: %s; the library cannot give up: the job ends\n", plan_.grid.rank(), why.c_str());
  std::fflush(stderr);
  comm_.abort(1);
}

}  // namespace slipstream

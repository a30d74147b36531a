// What all ranks of an exchange set up together for their routes before its ends are made.
#include <algorithm>
#include <cstring>
#include <set>

#include <slipstream/error.hpp>

#include "exchange/impl.hpp"
#include "machine/patience.hpp"
#include "route/carriage.hpp"

namespace slipstream {
namespace {

struct Entry {
  std::int64_t source = 0, target = 0, route = 0, wire_bytes = 0;
};

}  // namespace

/// The tags of messages of two devices count the devices of their ranks.
int Exchange::Impl::first_free_tag() const {
  const Machine& machine = grid.machine();
  std::vector<int> devices(machine.ranks());
  for (int device = 0; device < machine.devices(); ++device) ++devices[machine.device(device).rank];
  const int most = *std::max_element(devices.begin(), devices.end());
  return most * most;
}

/// Both ends of a message must have chosen the same route: a library may be missing on one of them.
void Exchange::Impl::prepare_routes() {
  std::string mine;
  for (const Channel& channel : channels) {
    const Entry entry{channel.message.source, channel.message.target, static_cast<std::int64_t>(channel.choice.route),
                      static_cast<std::int64_t>(channel.message.wire_bytes)};
    mine.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  std::map<std::pair<int, int>, Entry> known;
  for (const std::string& text : comm.all_gather(mine))
    for (std::size_t at = 0; at + sizeof(Entry) <= text.size(); at += sizeof(Entry)) {
      Entry entry;
      std::memcpy(&entry, text.data() + at, sizeof entry);
      const auto [seen, first] =
          known.try_emplace({static_cast<int>(entry.source), static_cast<int>(entry.target)}, entry);
      require(first || seen->second.route == entry.route,
              "the ranks of devices " + std::to_string(entry.source) + " and " + std::to_string(entry.target) +
                  " choose different routes between them (" + to_string(static_cast<RouteKind>(entry.route)) + ", " +
                  to_string(static_cast<RouteKind>(seen->second.route)) +
                  "): make the same libraries visible to all ranks, or name the routes to use");
    }
  for (const RouteKind kind : all_routes()) {
    RouteSetup setup{comm, grid.machine(), {}, options.knobs, hash, own->mpi(), first_free_tag()};
    for (const auto& [devices, entry] : known)
      if (static_cast<RouteKind>(entry.route) == kind)
        setup.letters.push_back({devices.first, devices.second, static_cast<std::size_t>(entry.wire_bytes)});
    if (setup.letters.empty()) continue;
    if (auto state = route(kind).prepare(setup)) states[kind] = std::move(state);
  }
  for (Channel& channel : channels)
    if (const auto found = states.find(channel.choice.route); found != states.end())
      channel.message.state = found->second;
  for (MessageInfo& m : messages)
    if (const auto found = states.find(m.route); found != states.end())
      if (const std::string remark = found->second->remark(m.source, m.target); !remark.empty())
        m.reason += "; " + remark;
  set_watchdog();
}

void Exchange::Impl::set_watchdog() {
  if (sides.empty()) return;
  const auto waits = [](const auto& entry) { return entry.second->waits_for_ever(); };
  if (std::any_of(states.begin(), states.end(), waits))
    watchdog = std::make_unique<Watchdog>(options.wait_limit,
                                          [this](std::uint64_t number, std::size_t late) { tell_of(number, late); });
}

/// The library does not say which of its neighbours a device waits for. Runs in the watchdog's thread.
void Exchange::Impl::tell_of(std::uint64_t number, std::size_t late) {
  const auto place = [&](int device) { return end_of(device, grid.machine().device(device).rank); };
  const int me = sides[late]->index;
  std::set<int> others;
  for (const Channel& channel : channels) {
    const Message& m = channel.message;
    if (!m.state || !m.state->waits_for_ever()) continue;
    if (m.target == me) others.insert(m.source);
    if (m.source == me) others.insert(m.target);
  }
  others.erase(me);
  std::string whom;
  for (const int other : others) whom += (whom.empty() ? "" : " or ") + place(other);
  watchdog->complain(too_late(number, place(me) + " waited", whom));
  for (const auto& [kind, state] : states)
    if (state->waits_for_ever()) state->abandon();
}

/// Whether what begin, end and run queued has ended, as it has where a device failed. Replays of a caller's graph are
/// not seen.
bool Exchange::Impl::over() const {
  return std::all_of(sides.begin(), sides.end(), [](const auto& side) {
    try {
      return side->stream.idle() && side->ran.done();
    } catch (const Error&) {
      return true;
    }
  });
}

/// A library's kernels wait for a dead rank for ever, and so would a stream that is synchronized.
void Exchange::Impl::await_or_abandon() noexcept {
  watchdog.reset();
  if (asked_until([this] { return over(); }, options.wait_limit)) return;
  for (const auto& [kind, state] : states) state->abandon();
}

}  // namespace slipstream

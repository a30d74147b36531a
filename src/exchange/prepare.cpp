// What all ranks of an exchange set up together for their routes before its ends are made.
#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>

#include <slipstream/error.hpp>

#include "device/kept_memory.hpp"
#include "exchange/impl.hpp"
#include "machine/agree.hpp"
#include "machine/patience.hpp"
#include "machine/records.hpp"
#include "route/carriage.hpp"

namespace slipstream {
namespace {

/// A message as one of its ends has planned it.
struct Entry {
  std::int64_t source = 0, target = 0, route = 0;
  /// In all, in each slot and in host memory; slots; chunks; whether some values are stored in place.
  std::int64_t bytes = 0, slot_bytes = 0, host_bytes = 0, depth = 0, chunks = 0, in_place = 0;

  bool same_layout(const Entry& other) const {
    return std::tie(bytes, slot_bytes, host_bytes, depth, chunks, in_place) ==
           std::tie(other.bytes, other.slot_bytes, other.host_bytes, other.depth, other.chunks, other.in_place);
  }
};

Entry entry_of(const Channel& channel) {
  const SlotNeed& need = channel.need;
  return {channel.message.source,
          channel.message.target,
          static_cast<std::int64_t>(channel.choice.route),
          static_cast<std::int64_t>(channel.message.bytes),
          static_cast<std::int64_t>(need.slot_bytes),
          static_cast<std::int64_t>(need.host_bytes),
          need.depth,
          need.chunks,
          need.in_place};
}

/// Seconds in which a library starts, however impatient exchanges are: NCCL and NVSHMEM take 1 to 5 on some GPUs.
constexpr double least_patience = 15;

}  // namespace

/// The tags of messages of two devices count the devices of their ranks.
int Exchange::Impl::first_free_tag() const {
  const Machine& machine = grid.machine();
  std::vector<int> devices(machine.ranks());
  for (int device = 0; device < machine.devices(); ++device) ++devices[machine.device(device).rank];
  const int most = *std::max_element(devices.begin(), devices.end());
  return most * most;
}

/// Both ends of a message must have chosen the same route and the same layout: a library may be missing on one of them.
void Exchange::Impl::prepare_routes() {
  std::string mine;
  for (const Channel& channel : channels) append_record(mine, entry_of(channel));
  std::map<std::pair<int, int>, Entry> known;
  for (const Entry& entry : records_of<Entry>(comm.all_gather(mine))) {
    const auto [seen, first] =
        known.try_emplace({static_cast<int>(entry.source), static_cast<int>(entry.target)}, entry);
    if (!(first || seen->second.route == entry.route))
      throw Error(ErrorCode::mismatch,
                  "the ranks of devices " + std::to_string(entry.source) + " and " + std::to_string(entry.target) +
                      " choose different routes between them (" + to_string(static_cast<RouteKind>(entry.route)) +
                      ", " + to_string(static_cast<RouteKind>(seen->second.route)) +
                      "): make the same libraries visible to all ranks, or name the routes to use",
                  {{"device", entry.source}, {"peer", entry.target}, {"problem", "route"}});
    if (!(first || seen->second.same_layout(entry)))
      throw Error(ErrorCode::mismatch,
                  "the ranks of devices " + std::to_string(entry.source) + " and " + std::to_string(entry.target) +
                      " lay out the message between them differently (" + std::to_string(seen->second.bytes) + " and " +
                      std::to_string(entry.bytes) +
                      " B): give all ranks the same exchange options, and the same build of the library",
                  {{"device", entry.source}, {"peer", entry.target}, {"problem", "layout"}});
  }
  for (const RouteKind kind : all_routes()) {
    RouteSetup setup{comm,          grid.machine(),   {},
                     options.knobs, options.throttle, hash,
                     own->mpi(),    first_free_tag(), std::max(options.wait_limit, least_patience)};
    for (const auto& [devices, entry] : known)
      if (static_cast<RouteKind>(entry.route) == kind)
        setup.letters.push_back({devices.first, devices.second, static_cast<std::size_t>(entry.bytes)});
    if (setup.letters.empty()) continue;
    on_all_ranks(comm, "an exchange could not be made", [&] {
      if (auto state = route(kind).prepare(setup)) states[kind] = std::move(state);
    });
  }
  for (Channel& channel : channels)
    if (const auto found = states.find(channel.choice.route); found != states.end())
      channel.message.state = found->second;
  for (const Channel& channel : channels) {
    capturable &= captured(channel);
    limited_in_graphs &= captured(channel);
  }
  if (coded || looks) agree_on_captures();
  // What the copy engine or a library does is recorded for one exchange, or for two in turn.
  loopable = comm.all(capturable && std::all_of(channels.begin(), channels.end(), [](const Channel& c) {
                        return c.choice.route == RouteKind::kernel || c.choice.route == RouteKind::direct;
                      }));
  for (MessageInfo& m : messages)
    if (const auto found = states.find(m.route); found != states.end())
      if (const std::string remark = found->second->remark(m.source, m.target); !remark.empty())
        m.reason += "; " + remark;
}

void Exchange::Impl::set_watchdog() {
  if (sides.empty()) return;
  const auto waits = [](const auto& entry) { return entry.second->waits_for_ever(); };
  if (std::any_of(states.begin(), states.end(), waits))
    watchdog = std::make_unique<Watchdog>(
        options.wait_limit, [this](Watchdog& teller, std::uint64_t number, std::size_t late, double seconds) {
          tell_of(teller, number, late, seconds);
        });
  for (const auto& [kind, state] : states) waits_in_deliver |= state->waits_in_deliver();
}

/// The library does not say which of its neighbours a device waits for.
Timeout Exchange::Impl::late_in_library(std::uint64_t number, std::size_t late, double seconds) const {
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
  return too_late(number, place(me) + " waited", whom, seconds, {{"device", me}});
}

/// Runs in the watchdog's thread.
void Exchange::Impl::tell_of(Watchdog& teller, std::uint64_t number, std::size_t late, double seconds) {
  const Timeout timeout = late_in_library(number, late, seconds);
  teller.complain(timeout);
  bool ended = true;
  for (const auto& [kind, state] : states)
    if (state->waits_for_ever()) ended &= state->abandon();
  if (!ended) end_job(timeout.what());
}

/// Where nothing ends what a stream waits for, whoever waits for the stream would wait for ever.
void Exchange::Impl::end_job(const std::string& why) const {
  std::fprintf(stderr, "rank %d: %s; the library cannot give up: the job ends\n", grid.rank(), why.c_str());
  std::fflush(stderr);
  comm.abort(1);
}

/// Whether what begin, end and run queued has ended, as it has where a device failed. Replays of a caller's graph are
/// not seen.
bool Exchange::Impl::over() const {
  try {
    return calls.over() && std::all_of(sides.begin(), sides.end(), [](const auto& s) { return s->stream.idle(); });
  } catch (...) {
    return true;
  }
}

/// Whether a wait has given up.
bool Exchange::Impl::late() noexcept {
  try {
    check_waits();
  } catch (const Error&) {
    return true;
  }
  return false;
}

/// Others that are late may still be about to store into fields of this rank, which its user goes on with: they see
/// first that they must not. They hold that word until all ranks have parted.
void Exchange::Impl::revoke() noexcept {
  for (const auto& [side, broken] : writers) try {
      fill(side->stream, broken, 0xff, sizeof *broken);
      side->stream.synchronize();
    } catch (...) {
      // The device has failed, and with it the memory that others would store to.
    }
}

/// Landing places of ranks that did not part: others may still store to them. Nobody frees them any more.
void Exchange::Impl::keep_memory() {
  keep_for_ever(std::move(stored_by_others));
  for (auto& side : sides) {
    keep_for_ever(std::move(side->signals));
    keep_for_ever(std::move(side->slots));
    keep_for_ever(std::move(side->mapped_host_slots));
  }
  for (const auto& [kind, state] : states) state->keep_memory();
}

/// A library's kernels wait for a dead rank for ever, and so would a stream that is synchronized.
void Exchange::Impl::await_or_abandon() noexcept {
  // The watchdog's last complaint is kept: it goes.
  try {
    check_waits();
  } catch (const Error& error) {
    complaint = Timeout(error.what(), error.facts());
  }
  watchdog.reset();
  if (asked_until([this] { return over(); }, options.wait_limit)) return;
  complaint = late_in_library(sequence, 0, options.wait_limit);
  bool ended = true;
  for (const auto& [kind, state] : states) ended &= state->abandon();
  if (!ended) end_job(complaint->what());
}

}  // namespace slipstream

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
#include "machine/rendezvous.hpp"
#include "route/carriage.hpp"

namespace slipstream {
namespace {

/// A message as one of its ends has planned it.
struct Entry {
  std::int64_t source = 0, target = 0;
  std::uint64_t transfers = 0;  // their hash
  std::int64_t route = 0;
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
          transfers_hash(*channel.bundle),
          static_cast<std::int64_t>(channel.choice.route),
          static_cast<std::int64_t>(channel.message.bytes),
          static_cast<std::int64_t>(need.slot_bytes),
          static_cast<std::int64_t>(need.host_bytes),
          need.depth,
          need.chunks,
          need.in_place};
}

std::string ranks_of(const Entry& entry) {
  return "the ranks of devices " + std::to_string(entry.source) + " and " + std::to_string(entry.target);
}

[[noreturn]] void list_differently(const Entry& entry) {
  throw Error(ErrorCode::mismatch,
              ranks_of(entry) + " list different transfers between them: patterns must be the same on all ranks",
              {{"device", entry.source}, {"peer", entry.target}});
}

/// A library may be missing on one of them.
void require_alike(const Entry& mine, const Entry& theirs) {
  if (mine.transfers != theirs.transfers) list_differently(mine);
  if (mine.route != theirs.route)
    throw Error(ErrorCode::mismatch,
                ranks_of(mine) + " choose different routes between them (" +
                    to_string(static_cast<RouteKind>(mine.route)) + ", " +
                    to_string(static_cast<RouteKind>(theirs.route)) +
                    "): make the same libraries visible to all ranks, or name the routes to use",
                {{"device", mine.source}, {"peer", mine.target}, {"problem", "route"}});
  if (!mine.same_layout(theirs))
    throw Error(ErrorCode::mismatch,
                ranks_of(mine) + " lay out the message between them differently (" + std::to_string(mine.bytes) +
                    " and " + std::to_string(theirs.bytes) +
                    " B): give all ranks the same exchange options, and the same build of the library",
                {{"device", mine.source}, {"peer", mine.target}, {"problem", "layout"}});
}

/// Seconds in which a library starts, however impatient exchanges are: NCCL and NVSHMEM take 1 to 5 on some GPUs.
constexpr double least_patience = 15;

}  // namespace

/// The tags of messages of two devices count the devices of their ranks.
int Exchange::Impl::first_free_tag() const {
  const int most = grid.machine().most_devices_of_rank();
  return most * most;
}

double Exchange::Impl::patience() const { return std::max(options.wait_limit, least_patience); }

/// Both ends of a message must list the same transfers and have chosen the same route and the same layout.
void Exchange::Impl::agree_on_messages() const {
  using Devices = std::pair<std::int64_t, std::int64_t>;
  std::map<int, std::string> letters;
  std::map<Devices, Entry> mine;  // to and from other ranks
  for (const Channel& channel : channels) {
    if (channel.pair.same_process) continue;
    const Message& m = channel.message;
    const Entry entry = mine[{m.source, m.target}] = entry_of(channel);
    append_record(letters[local(m.source) ? m.target_rank : m.source_rank], entry);
  }
  const std::map<int, std::string> received = rendezvous(*own, std::move(letters), patience());
  on_all_ranks(comm, [&] {
    std::set<Devices> answered;
    for (const auto& [rank, text] : received)
      for (const Entry& theirs : records_of<Entry>({text})) {
        const auto found = mine.find({theirs.source, theirs.target});
        if (found == mine.end()) list_differently(theirs);
        require_alike(found->second, theirs);
        answered.insert(found->first);
      }
    for (const auto& [devices, entry] : mine)
      if (!answered.contains(devices)) list_differently(entry);
  });
}

void Exchange::Impl::prepare_routes() {
  agree_on_messages();
  std::map<RouteKind, std::vector<RouteSetup::Letter>> letters;
  std::uint64_t used = 0;
  for (const Channel& channel : channels) {
    const Message& m = channel.message;
    letters[channel.choice.route].push_back({m.source, m.target, m.bytes});
    used |= std::uint64_t{1} << static_cast<int>(channel.choice.route);
  }
  used = comm.any(used);
  for (const RouteKind kind : all_routes()) {
    if (!(used >> static_cast<int>(kind) & 1)) continue;
    RouteSetup setup{comm, grid.machine(), letters[kind],    options.knobs, options.throttle,
                     hash, own->mpi(),     first_free_tag(), patience()};
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
  loopable = comm.all(capturable && std::all_of(channels.begin(), channels.end(),
                                                [](const Channel& c) { return traits_of(c.choice.route).loops; }));
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

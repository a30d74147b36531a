#include "exchange/agreement.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <slipstream/error.hpp>

#include "machine/records.hpp"
#include "machine/rendezvous.hpp"
#include "machine/timeout.hpp"

namespace slipstream {
namespace {

/// One end's plan of a message, which ranks compare with the plan of the other end.
struct Entry {
  std::int64_t source = 0, target = 0;
  std::uint64_t transfers = 0;  // hash of the message's transfers
  std::int64_t route = 0;
  /// Layout of the message. Bytes: of the message, of a receive buffer, of host memory. Numbers: of receive buffers, of
  /// chunks (parts that are packed separately). Flag: whether some values go straight into the target.
  std::array<std::int64_t, 6> layout{};
};

Entry entry_of(const Channel& channel) {
  const SlotNeed& need = channel.need;
  return {channel.message.source,
          channel.message.target,
          transfers_hash(*channel.bundle),
          static_cast<std::int64_t>(channel.choice.route),
          {static_cast<std::int64_t>(channel.message.bytes), static_cast<std::int64_t>(need.slot_bytes),
           static_cast<std::int64_t>(need.host_bytes), need.depth, need.chunks, need.in_place}};
}

std::string ranks_of(const Entry& entry) {
  return "the ranks of devices " + std::to_string(entry.source) + " and " + std::to_string(entry.target);
}

[[noreturn]] void list_differently(const Entry& entry) {
  throw Error(ErrorCode::mismatch,
              ranks_of(entry) + " list different transfers between them: patterns must be the same on all ranks",
              {{"device", entry.source}, {"peer", entry.target}});
}

/// Throws mismatch if both ends of a message have different plans, for example because one rank lacks a library.
void require_alike(const Entry& mine, const Entry& theirs) {
  if (mine.transfers != theirs.transfers) list_differently(mine);
  require(mine.route == theirs.route, ErrorCode::mismatch,
          ranks_of(mine) + " choose different routes between them (" + to_string(static_cast<RouteKind>(mine.route)) +
              ", " + to_string(static_cast<RouteKind>(theirs.route)) +
              "): make the same libraries visible to all ranks, or name the routes to use",
          {{"device", mine.source}, {"peer", mine.target}, {"problem", "route"}});
  require(mine.layout == theirs.layout, ErrorCode::mismatch,
          ranks_of(mine) + " lay out the message between them differently (" + std::to_string(mine.layout[0]) +
              " and " + std::to_string(theirs.layout[0]) +
              " B): give all ranks the same exchange options, and the same build of the library",
          {{"device", mine.source}, {"peer", mine.target}, {"problem", "layout"}});
}

/// Minimum timeout in seconds for starting a library, however short the timeout of exchanges is. NCCL and NVSHMEM take
/// 1 to 5 s on some GPUs.
constexpr double least_timeout = 15;

/// Number of exchanges after which hosts ask one another, without waiting for devices, whether any value was lost.
constexpr int asked_every = 64;

}  // namespace

Agreement::Agreement(const Communicator& comm, const Plan& plan, Waits& waits, std::function<Problem()> unwritten)
    : comm_(comm), plan_(plan), waits_(waits), unwritten_here_(std::move(unwritten)), own_(comm, "an exchange") {
  if (plan.coded || plan.looks())
    values_ = std::make_unique<PrivateCommunicator>(
        comm, "what ranks tell each other of values that did not get through", PrivateCommunicator::Purpose::questions);
}

double Agreement::timeout() const { return std::max(plan_.options.wait_limit, least_timeout); }

void Agreement::compare_messages() {
  std::map<int, std::string> letters;
  std::map<std::pair<std::int64_t, std::int64_t>, Entry> mine;  // plans of the messages to and from other ranks
  for (const Channel& channel : plan_.channels) {
    if (channel.pair.same_process) continue;
    const Message& m = channel.message;
    const Entry entry = mine[{m.source, m.target}] = entry_of(channel);
    append_record(letters[plan_.local(m.source) ? m.target_rank : m.source_rank], entry);
  }
  const std::map<int, std::string> received = rendezvous(own_, std::move(letters), timeout());
  on_all_ranks(comm_, [&] {
    for (const auto& [rank, text] : received)
      for (const Entry& theirs : records_of<Entry>({text})) {
        const auto found = mine.find({theirs.source, theirs.target});
        if (found == mine.end()) list_differently(theirs);
        require_alike(found->second, theirs);
        mine.erase(found);
      }
    if (!mine.empty()) list_differently(mine.begin()->second);  // the other rank does not plan this message
  });
}

void Agreement::prepare_routes(RouteStates& states) {
  std::map<RouteKind, std::vector<RouteSetup::Letter>> letters;
  std::uint64_t used = 0;
  for (const std::size_t number : plan_.channel_of_message) {
    const Channel& channel = plan_.channels[number];
    const Message& m = channel.message;
    letters[channel.choice.route].push_back({m.source, m.target, m.bytes});
    used |= std::uint64_t{1} << static_cast<int>(channel.choice.route);
  }
  used = comm_.any(used);
  for (const RouteKind kind : all_routes()) {
    if (!(used >> static_cast<int>(kind) & 1)) continue;
    const RouteSetup setup{
        comm_,    plan_.grid.machine(), letters[kind], plan_.options.knobs, plan_.options.throttle, plan_.hash, &own_,
        timeout()};
    on_all_ranks(comm_, "an exchange could not be made", [&] {
      if (auto state = route(kind).prepare(setup)) states[kind] = std::move(state);
    });
  }
}

/// Decides for all ranks whether exchanges are recorded as graphs. Ranks must agree: replays check less for overflow.
bool Agreement::settle_captures(Plan& plan) {
  if (values_) {
    told_at_end_ = plan.looks() || !comm_.all(!plan.host_driven);
    plan.capturable = comm_.all(plan.capturable && !plan.looks());
    plan.limited_in_graphs = comm_.all(plan.limited_in_graphs);
  }
  // A graph may hold any number of exchanges; with routes by copy engines or libraries only one, or two alternating.
  return comm_.all(plan.capturable && std::all_of(plan.channels.begin(), plan.channels.end(),
                                                  [](const Channel& c) { return traits_of(c.choice.route).loops; }));
}

void Agreement::check(std::uint64_t number) const {
  if (unwritten_) throw Unwritten(*unwritten_);
  if (too_large_of_ > 0) throw too_large(number, too_large_of_ - 1);
}

/// Asks all ranks whether values overflowed or were not stored. Senders record it, so no message need arrive before.
void Agreement::ask(std::uint64_t number) {
  const double seconds = plan_.options.wait_limit;
  const std::optional<int> found = values_->greatest(waits_.too_large(), seconds);
  if (!found) {
    unanswered_ = true;
    waits_.give_up(plan_.too_late(number, "rank " + std::to_string(comm_.rank()) + " waited",
                                  "the other ranks to tell whether a value was too large for its coding, or never "
                                  "stored",
                                  seconds));
  }
  too_large_of_ = std::max(too_large_of_, *found);
  if (plan_.looks() && !unwritten_)
    if (const Problem first = first_failure(comm_, unwritten_here_()))
      unwritten_.emplace(first->what(), first->facts());
  check(number);
}

void Agreement::ask_last(std::uint64_t number) {
  if (plan_.coded && !told_at_end_ && too_large_of_ == 0) ask(number);
}

void Agreement::ask_at_end(std::uint64_t number, const std::function<bool()>& encoded) {
  if (!told_at_end_) return;
  const double seconds = 2 * plan_.options.wait_limit;
  if (!asked_until(encoded, seconds))
    waits_.give_up(
        plan_.too_late(number, "rank " + std::to_string(comm_.rank()) + " waited", "its own devices to pack", seconds));
  ask(number);
}

void Agreement::ask_now_and_then(std::uint64_t number) {
  if (!plan_.coded || told_at_end_ || ++begun_unasked_ <= asked_every) return;
  begun_unasked_ = 1;
  ask(number);
}

/// Waits for all ranks to leave the exchange's communicators, but not for one on which a rank did not answer in time.
bool Agreement::leave(double seconds) noexcept {
  if (!values_) return own_.leave(seconds);
  const std::optional<int> somewhere = own_.greatest(unanswered_, seconds);
  if (somewhere != 0) values_->leave_alone();
  return somewhere && own_.leave(seconds);
}

Overflow Agreement::too_large(std::uint64_t number, int item) const {
  const PlannedItem& of = plan_.items.at(static_cast<std::size_t>(item));
  const std::string& pattern = plan_.patterns.at(static_cast<std::size_t>(item));
  return Overflow(plan_.name(number) + ": a finite value of item " + std::to_string(item) + " (" + of.source.name +
                      " by " + pattern + ") is too large for its coding, " + to_string(of.coding) +
                      ", and arrived as infinite, in this exchange or before: choose the coding raw or scale the field",
                  {{"sequence", number},
                   {"item", item},
                   {"field", of.source.name},
                   {"pattern", pattern},
                   {"coding", to_string(of.coding)}});
}

}  // namespace slipstream

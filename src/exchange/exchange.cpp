#include <slipstream/exchange.hpp>

#include <algorithm>

#include <slipstream/error.hpp>
#include <slipstream/trace.hpp>

#include "exchange/impl.hpp"
#include "machine/patience.hpp"
#include "route/carriage.hpp"

namespace slipstream {

Side& Exchange::Impl::side_of(int device) {
  for (auto& side : sides)
    if (side->index == device) return *side;
  throw Error(ErrorCode::not_found, "device " + std::to_string(device) + " does not belong to this rank",
              {{"device", device}});
}

Pulse Exchange::Impl::pulse(const Side& side) const {
  return {side.sequence(), side.failure.data(), side.broken(), wait_limit_ns(options.wait_limit, "an exchange"),
          side.stamps.data()};
}

void Exchange::Impl::check_streams(const std::vector<Stream>& streams) const {
  const std::size_t count = streams.size();
  if (count != sides.size())
    throw Error(ErrorCode::mismatch,
                "an exchange was given " + std::to_string(count) + " streams for the " + std::to_string(sides.size()) +
                    " devices of this rank",
                {{"given", count}, {"needed", sides.size()}});
  for (std::size_t i = 0; i < count; ++i)
    if (streams[i].device() != sides[i]->device)
      throw Error(ErrorCode::mismatch,
                  "stream " + std::to_string(i) + " of an exchange is on " + to_string(streams[i].device()) +
                      ", not on " + to_string(sides[i]->device),
                  {{"stream", i}, {"given", to_string(streams[i].device())}, {"needed", to_string(sides[i]->device)}});
}

void Exchange::Impl::start(std::vector<Stream>& streams) {
  check_streams(streams);
  check_waits();
  check_values();
  if (open || opened)
    throw Error(ErrorCode::wrong_state, "an exchange was begun again before its end", {{"problem", "begun_again"}});
  check_generations();
  check_bound();
  for (const Stream& stream : streams)
    if (!capturable && stream.capturing())
      throw Error(ErrorCode::unsupported, why_not_captured(), {{"problem", "captured"}});
  calls.begin(streams);
  agree_now_and_then(streams);
  ++sequence;
  combination = current_combination();
  for (auto& side : sides) side->arrays.combination = combination;
  if (host_driven) drive_states();
}

bool Exchange::Impl::drive_states() {
  bool done = true;
  for (const auto& [kind, state] : states) done &= state->progress(sequence);
  return done;
}

bool Exchange::Impl::captured(const Channel& c) {
  return route(c.choice.route).capturable(c.pair) &&
         (!c.message.state || c.message.state->capturable(c.message.source, c.message.target));
}

std::string Exchange::Impl::why_not_captured() const {
  for (const Channel& c : channels)
    if (!captured(c))
      return "an exchange was begun on a stream that is being captured, but its message from device " +
             std::to_string(c.message.source) + " to device " + std::to_string(c.message.target) + " travels by " +
             to_string(c.choice.route) + ", which a graph cannot replay here (slipstream info routes says why): " +
             "capture the work around the exchange, or allow routes that can be captured (kernel, direct, peer, " +
             "colocated)";
  return "an exchange was begun on a stream that is being captured, but some message of another rank cannot be "
         "replayed by a graph, or all ranks tell each other of values that were too large for their coding or that "
         "a caller's kernel did not store (poison = true): capture the work around the exchange, or allow routes that "
         "can be captured on all ranks (kernel, direct, peer, "
         "colocated)";
}

/// Before anything of it changes a value.
void Exchange::Impl::measure_errors(Side& side, Stream& stream) {
  for (const auto& [sender, probe] : side.probes) probe.run(stream);
}

/// `opens`: the exchange begins with it.
void Exchange::Impl::send(Side& side, Stream& stream, bool opens) {
  if (opens) {
    for (auto& receiver : side.receivers) receiver->post(stream, sequence);
    if (options.poison) poison(side, stream);
  } else if (side.produced) {
    side.produced->look(stream, side.broken());
  }
  measure_errors(side, stream);
  const DeviceSpan span(options.trace, stream, "exchange", "send", "kernel");
  side.outgoing.run(stream, pulse(side), opens);
}

/// Once all devices have their work: those of one rank may wait for each other.
void Exchange::Impl::wait_if_asked(const std::vector<Stream*>& streams) {
  if (!options.knobs.sync || !host_driven) return;
  for (Stream* stream : streams) stream->synchronize();
}

/// A user's own graph is not watched.
void Exchange::Impl::watched(const std::vector<Stream*>& streams, const std::function<void()>& work) {
  if (!watchdog) return work();
  watchdog->watch(sequence, streams, work);
}

void Exchange::Impl::transfer(const std::vector<Stream*>& streams) {
  if (!transfers) return;
  watched(streams, [&] { start_transfers(streams); });
  // Here every end still waits: one that is quick may never be seen to by progress().
  if (options.trace && host_driven) trace_states();
}

void Exchange::Impl::start_transfers(const std::vector<Stream*>& streams) {
  std::vector<std::unique_ptr<RouteGroup>> groups;
  for (const Route* way : ways)
    if (auto group = way->open_group()) groups.push_back(std::move(group));
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (!sides[i]->transfers) continue;
    const DeviceSpan span(options.trace, *streams[i], "exchange", "transfer", "copy");
    for (auto& sender : sides[i]->senders) sender->transfer(*streams[i], sequence);
    for (auto& sender : sides[i]->senders) sender->join(*streams[i]);
    for (auto& receiver : sides[i]->receivers) receiver->transfer(*streams[i], sequence);
  }
  for (auto& group : groups) group->close(sides.front()->device);
}

void Exchange::Impl::receive(Side& side, Stream& stream) {
  if (!side.gates.empty()) {
    const DeviceSpan span(options.trace, stream, "exchange", "wait", "wait");
    side.gates.run(stream, pulse(side), false);
  }
  if (side.delivers) {
    const DeviceSpan span(options.trace, stream, "exchange", "deliver", "copy");
    for (auto& receiver : side.receivers)
      if (receiver->delivers()) receiver->deliver(stream, sequence);
  }
  const DeviceSpan span(options.trace, stream, "exchange", "receive", "kernel");
  side.incoming.run(stream, pulse(side), false);
  if (options.poison) poison_slots(side, stream);
}

/// Work that receives; watched where a library waits in it.
void Exchange::Impl::deliver(const std::vector<Stream*>& streams, const std::function<void()>& work) {
  const auto all = [&] {
    work();
    wait_if_asked(streams);
  };
  waits_in_deliver ? watched(streams, all) : all();
}

void Exchange::Impl::begin(std::vector<Stream>& streams) {
  const HostSpan span(options.trace, "begin");
  require_unproduced("begin");
  start(streams);
  open = true;
  if (host_driven) driven.open();
  send_all(streams, true);
  if (options.poison)
    for (std::size_t i = 0; i < sides.size(); ++i) streams[i].wait(sides[i]->poisoned);
}

/// On the engine's own streams, behind what the caller's hold.
void Exchange::Impl::send_all(std::vector<Stream>& streams, bool opens) {
  std::vector<Stream*> own;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Side& side = *sides[i];
    streams[i].record(side.before);
    side.stream.wait(side.before);
    send(side, side.stream, opens);
    own.push_back(&side.stream);
  }
  wait_if_asked(own);
  transfer(own);
  mark_encoded(own, false);
}

void Exchange::Impl::end(std::vector<Stream>& streams) {
  const HostSpan span(options.trace, "end");
  if (opened)
    throw Error(ErrorCode::wrong_state, "an exchange was ended that was opened and not posted",
                {{"problem", "not_posted"}});
  if (!open)
    throw Error(ErrorCode::wrong_state, "an exchange was ended that was not begun", {{"problem", "not_begun"}});
  check_waits();
  if (host_driven) drive_host_routes();
  open = false;
  driven.close();
  std::vector<Stream*> own;
  for (auto& side : sides) own.push_back(&side->stream);
  deliver(own, [&] {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      Side& side = *sides[i];
      receive(side, side.stream);
      side.stream.record(side.after);
      streams[i].wait(side.after);
    }
  });
  mark_encoded(own, true);
  calls.end(streams);
  agree_at_end();
}

void Exchange::Impl::run(std::vector<Stream>& streams) {
  const HostSpan span(options.trace, "run");
  require_unproduced("run");
  start(streams);
  std::vector<Stream*> callers;
  for (Stream& stream : streams) callers.push_back(&stream);
  if (!transfers && !options.poison) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      measure_errors(*sides[i], streams[i]);
      const DeviceSpan whole(options.trace, streams[i], "exchange", "exchange", "kernel");
      sides[i]->whole.run(streams[i], pulse(*sides[i]), true);
    }
    mark_encoded(callers, false);
    mark_encoded(callers, true);
    calls.end(streams);
    return agree_at_end();
  }
  if (replayed(streams)) {
    const std::vector<Graph>& graphs = recording();
    watched(callers, [&] {
      for (std::size_t i = 0; i < sides.size(); ++i) graphs[i].launch(streams[i]);
    });
  } else {
    queue(callers);
  }
  calls.end(streams);
  agree_at_end();
}

/// All of an exchange whose routes queue work between sending and arrival.
void Exchange::Impl::queue(const std::vector<Stream*>& streams) {
  open = true;
  for (std::size_t i = 0; i < sides.size(); ++i) send(*sides[i], *streams[i], true);
  wait_if_asked(streams);
  transfer(streams);
  mark_encoded(streams, false);
  if (host_driven) drive_host_routes();
  open = false;
  deliver(streams, [&] {
    for (std::size_t i = 0; i < sides.size(); ++i) receive(*sides[i], *streams[i]);
  });
  mark_encoded(streams, true);
}

/// A graph of the exchange's own, unless the caller records one or wants to see the parts.
bool Exchange::Impl::replayed(const std::vector<Stream>& streams) const {
  return capturable && !options.trace &&
         std::none_of(streams.begin(), streams.end(), [](const Stream& s) { return s.capturing(); });
}

/// One launch a device instead of some for each message; made at its first use with these arrays.
const std::vector<Graph>& Exchange::Impl::recording() {
  std::vector<Graph>& graphs = recordings[combination];
  if (!graphs.empty()) return graphs;
  std::vector<Graph> made;
  try {
    std::vector<Stream*> own;
    for (auto& side : sides) {
      side->stream.begin_capture();
      own.push_back(&side->stream);
    }
    queue(own);
    for (auto& side : sides) made.push_back(side->stream.end_capture());
  } catch (...) {
    stop_recording();
    throw;
  }
  return graphs = std::move(made);
}

/// Nothing of it has run.
void Exchange::Impl::stop_recording() noexcept {
  open = false;
  --sequence;
  for (auto& side : sides) {
    try {
      if (side->stream.capturing()) side->stream.end_capture();
    } catch (const Error&) {
      // It has ended all the same; whoever recorded is told why.
    }
  }
}

bool Exchange::Impl::progress() {
  if (!host_driven || !open) return true;
  bool done = drive_states();
  for (auto& side : sides) {
    for (auto& sender : side->senders) done &= sender->progress(sequence);
    for (auto& receiver : side->receivers) done &= receiver->progress(sequence);
  }
  if (options.trace) trace_states();
  return done;
}

/// A row for each end that the host drives: what it waits for.
void Exchange::Impl::trace_states() const {
  for (const auto& [kind, state] : states)
    options.trace->state("rank " + std::to_string(grid.rank()) + " " + to_string(kind), state->waiting_for(),
                         "message");
  for (const auto& side : sides) {
    const std::string device = to_string(side->device);
    for (std::size_t n = 0; n < side->senders.size(); ++n)
      options.trace->state(device + " sender " + std::to_string(n), side->senders[n]->waiting_for(), "message");
    for (std::size_t n = 0; n < side->receivers.size(); ++n)
      options.trace->state(device + " receiver " + std::to_string(n), side->receivers[n]->waiting_for(), "message");
  }
}

std::string Exchange::Impl::field_names() const {
  std::string names;
  for (const auto& item : items) names += (names.empty() ? "" : ", ") + item.source->options().name;
  return names;
}

/// How people would know one exchange from another.
std::string Exchange::Impl::name(std::uint64_t number) const {
  return "exchange " + std::to_string(number) + (items.empty() ? "" : " of ") + field_names();
}

/// `who` waited, and for `whom` where it does not say so itself.
Timeout Exchange::Impl::too_late(std::uint64_t number, const std::string& who, const std::string& whom, double seconds,
                                 Facts facts) const {
  facts.insert(facts.end(),
               {{"fields", field_names()}, {"rank", grid.rank()}, {"sequence", number}, {"limit", seconds}});
  if (!whom.empty()) facts.emplace_back("whom", whom);
  return Timeout(name(number) + ": " + who + " longer than " + std::to_string(seconds) + " s" +
                     (whom.empty() ? "" : " for " + whom) +
                     "; a rank that has stopped, or that calls its exchanges in another order, keeps others waiting",
                 std::move(facts));
}

std::pair<int, std::string> Exchange::Impl::who_waits() const {
  // They know more of a message with many parts than who waits for one of them.
  for (const auto& [kind, state] : states)
    if (auto what = state->waiting_for(); !what.empty()) return {sides.front()->index, std::move(what)};
  for (const auto& side : sides) {
    for (const auto& receiver : side->receivers)
      if (auto what = receiver->waiting_for(); !what.empty()) return {side->index, std::move(what)};
    for (const auto& sender : side->senders)
      if (auto what = sender->waiting_for(); !what.empty()) return {side->index, std::move(what)};
  }
  return {};
}

void Exchange::Impl::drive_host_routes() {
  for (const auto& [kind, state] : states) state->ending(sequence);
  const auto done = [this] {
    if (progress()) return true;
    driven.drive_others();
    return false;
  };
  if (asked_until(done, options.wait_limit)) return;
  const auto [device, whom] = who_waits();
  complaint = whom.empty() ? too_late(sequence, "nobody waits any more", "", options.wait_limit)
                           : too_late(sequence, end_of(device, grid.rank()) + " waited for " + whom, "",
                                      options.wait_limit, {{"device", device}, {"whom", whom}});
  throw Timeout(*complaint);
}

/// Once a wait has given up, an exchange does no more: what the others sent last is not theirs to trust.
/// Also of one whose making failed half-way.
void Exchange::Impl::check_waits() {
  if (complaint) throw Timeout(*complaint);
  if (watchdog) watchdog->check();
  for (const auto& side : sides) {
    const Failure* failure = side->failure.data();
    if (!failure || !load_acquire(&failure->set)) continue;
    const int peer = static_cast<int>(failure->peer);
    if (peer < 0)
      throw Timeout(
          name(failure->sequence) + ": " + end_of(side->index, grid.rank()) +
              " moved nothing, for a neighbour has ended its exchange after an error; that rank's message says "
              "why",
          {{"device", side->index}, {"rank", grid.rank()}, {"sequence", failure->sequence}});
    const int peer_rank = grid.machine().device(peer).rank;
    throw too_late(failure->sequence, end_of(side->index, grid.rank()) + " waited", end_of(peer, peer_rank),
                   options.wait_limit, {{"device", side->index}, {"peer", peer}, {"peer_rank", peer_rank}});
  }
}

std::vector<double> Exchange::Impl::arrival_us() {
  std::vector<double> times(messages.size(), -1);
  for (auto& pointer : sides) {
    Side& side = *pointer;
    const auto stamps = side.arena.take<std::uint64_t>(side.stamps.size(), Memory::pinned);
    synchronize(side.device);
    copy(side.stream, stamps.data(), side.stamps.data(), stamps.bytes());
    side.stream.synchronize();
    check_waits();
    check_values();
    std::vector<double> by_channel(channels.size(), -1);
    for (std::size_t r = 0; r < side.received.size(); ++r) {
      const int stamp = side.message_stamp[r];
      if (stamp && stamps.data()[stamp] > stamps.data()[0])
        by_channel[side.received[r]] = static_cast<double>(stamps.data()[stamp] - stamps.data()[0]) / 1e3;
    }
    for (std::size_t m = 0; m < messages.size(); ++m)
      if (by_channel[channel_of_message[m]] > 0) times[m] = by_channel[channel_of_message[m]];
  }
  return times;
}

Exchange::Exchange(const Communicator& comm, const Grid& grid, std::vector<ExchangeItem> items, ExchangeOptions options)
    : impl_(std::make_unique<Impl>(comm, grid, std::move(items), std::move(options))) {}
Exchange::~Exchange() = default;
Exchange::Exchange(Exchange&&) noexcept = default;
void Exchange::bind(std::size_t item, ItemEnd end, const std::vector<void*>& arrays, std::vector<Stream>& streams) {
  impl_->bind(item, end, arrays, streams);
}
void Exchange::begin(std::vector<Stream>& streams) { impl_->begin(streams); }
void Exchange::end(std::vector<Stream>& streams) { impl_->end(streams); }
void Exchange::run(std::vector<Stream>& streams) { impl_->run(streams); }
bool Exchange::progress() { return impl_->progress(); }
void Exchange::check() { impl_->check(); }
std::vector<double> Exchange::arrival_us() { return impl_->arrival_us(); }
const std::vector<MessageInfo>& Exchange::messages() const { return impl_->messages; }
bool Exchange::needs_host() const { return impl_->host_driven; }
bool Exchange::capturable() const { return impl_->capturable; }
bool Exchange::limited_in_graphs() const { return impl_->limited_in_graphs; }
bool Exchange::loopable() const { return impl_->loopable; }
std::uint64_t Exchange::sequence() const { return impl_->sequence; }

const Signal* Exchange::broken_on(Device device) const {
  for (const auto& side : impl_->sides)
    if (side->device == device) return side->broken();
  throw Error(ErrorCode::not_found, to_string(device) + " does not belong to this rank of the exchange");
}

std::int64_t Exchange::bytes_on(Device device) const {
  std::int64_t bytes = 0;
  for (const auto& side : impl_->sides) {
    if (side->device != device) continue;
    bytes += static_cast<std::int64_t>(side->signals.bytes() + side->slots.bytes() + side->stamps.bytes() +
                                       side->packed.bytes() + side->arrays.device.bytes());
    for (const auto& [sender, probe] : side->probes) bytes += probe.bytes();
    for (const auto* poison : {&side->targets, &side->produced})
      if (*poison) bytes += (*poison)->bytes();
    for (const auto& [item, windows] : side->windows)
      bytes += static_cast<std::int64_t>(windows.table.bytes() + windows.first.bytes());
    for (const auto& sender : side->senders) bytes += sender->bytes();
    for (const auto& receiver : side->receivers) bytes += receiver->bytes();
    for (const Program* program : {&side->outgoing, &side->incoming, &side->whole, &side->opening, &side->release})
      bytes += program->bytes();
  }
  return bytes;
}

}  // namespace slipstream

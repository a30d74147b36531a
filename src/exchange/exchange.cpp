#include <slipstream/exchange.hpp>

#include <algorithm>
#include <mutex>
#include <thread>

#include <slipstream/error.hpp>
#include <slipstream/trace.hpp>

#include "device/record_graphs.hpp"
#include "exchange/impl.hpp"
#include "exchange/same_calls.hpp"
#include "machine/timeout.hpp"
#include "node/transport.hpp"

namespace slipstream {
namespace {

/// Throws wrong_state unless the begin, open, post or end of an exchange is called in the right order.
void in_turn(bool good, const char* what, const char* problem) {
  if (!good) throw Error(ErrorCode::wrong_state, what, {{"problem", problem}});
}

/// Exchanges between begin and end whose routes need the host.
struct Registry {
  std::mutex mutex;
  std::vector<std::pair<std::thread::id, const OpenExchange*>> all;
};

/// The registry of open exchanges is never destroyed: exchanges of static lifetime may close later.
Registry& registry() {
  static Registry* one = new Registry;
  return *one;
}

}  // namespace

void OpenExchange::open() {
  Registry& open = registry();
  const std::lock_guard lock(open.mutex);
  open.all.emplace_back(std::this_thread::get_id(), this);
}

void OpenExchange::close() noexcept {
  Registry& open = registry();
  const std::lock_guard lock(open.mutex);
  std::erase_if(open.all, [this](const auto& entry) { return entry.second == this; });
}

void OpenExchange::drive_others() const {
  std::vector<const OpenExchange*> others;
  {
    Registry& open = registry();
    const std::lock_guard lock(open.mutex);
    for (const auto& [thread, other] : open.all)
      if (thread == std::this_thread::get_id() && other != this) others.push_back(other);
  }
  for (const OpenExchange* other : others) {
    try {
      other->drive_();
    } catch (const Error&) {
      // Ignores the error of another exchange, whose own end() reports it.
    }
  }
}

/// Senders, receivers and launches of one device; null if the device does not belong to this rank.
Launches* Exchange::Impl::on(Device device) const {
  for (const auto& each : launches)
    if (each->memory().device == device) return each.get();
  return nullptr;
}

std::vector<Stream*> Exchange::Impl::own_streams() const {
  std::vector<Stream*> all;
  for (const auto& mine : memory->devices) all.push_back(&mine->stream);
  return all;
}

void Exchange::Impl::check_known() const {
  waits->check();
  agreement->check(sequence);
}

void Exchange::Impl::start(std::vector<Stream>& streams) {
  calls.check(streams);
  check_known();
  in_turn(!open && !opened, "an exchange was begun again before its end", "begun_again");
  arrays->check();
  const bool recorded = captured(streams);
  if (!plan->capturable && recorded)
    throw Error(ErrorCode::unsupported, plan->why_not_captured(), {{"problem", "captured"}});
  calls.begin(streams);
  if (!recorded) agreement->ask_now_and_then(sequence);
  ++sequence;
  combination = arrays->current();
  arrays->select(combination);
  if (plan->host_driven) drive_states();
}

bool Exchange::Impl::drive_states() {
  bool done = true;
  for (const auto& [kind, state] : states) done &= state->progress(sequence);
  return done;
}

/// If option `sync` is set, the host waits for all streams. All must have their work, as a device may wait for another.
void Exchange::Impl::wait_if_asked(const std::vector<Stream*>& streams) {
  if (!plan->options.knobs.sync || !plan->host_driven) return;
  for (Stream* stream : streams) stream->synchronize();
}

/// Starts the transfers of all messages. A watchdog looks for waits that hang, except in graphs of the caller.
void Exchange::Impl::transfer(const std::vector<Stream*>& streams) {
  if (!transfers) return;
  waits->watched(sequence, streams, [&] {
    std::vector<std::unique_ptr<RouteGroup>> groups;
    for (const Route* way : plan->ways)
      if (auto group = way->open_group()) groups.push_back(std::move(group));
    for (std::size_t i = 0; i < launches.size(); ++i)
      if (launches[i]->transfers()) launches[i]->transfer(sequence, *streams[i]);
    for (auto& group : groups) group->close(memory->devices.front()->device);
  });
  // Traces now, while all senders and receivers still wait. A fast message may arrive before progress() traces it.
  if (plan->options.trace && plan->host_driven) trace_states();
}

void Exchange::Impl::mark_encoded(const std::vector<Stream*>& streams, bool late) {
  if (!agreement->told_at_end()) return;
  for (std::size_t i = 0; i < launches.size(); ++i) launches[i]->mark_encoded(*streams[i], late);
}

void Exchange::Impl::ask_at_end() {
  agreement->ask_at_end(sequence, [this] {
    return std::all_of(launches.begin(), launches.end(), [](const auto& each) { return each->encoded(); });
  });
}

/// Queues all work up to the arrival of the messages.
void Exchange::Impl::send_all(const std::vector<Stream*>& streams, bool after_opening) {
  open = true;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (!after_opening) launches[i]->start(sequence, *streams[i]);
    launches[i]->send(*streams[i], after_opening);
  }
  wait_if_asked(streams);
  transfer(streams);
  mark_encoded(streams, false);
}

/// Queues all work up to the messages' arrival on the exchange's own streams, after work of the callers' streams.
void Exchange::Impl::send_behind(std::vector<Stream>& callers, bool after_opening) {
  if (plan->host_driven) driven.open();
  for (std::size_t i = 0; i < launches.size(); ++i) launches[i]->behind(callers[i]);
  send_all(own_streams(), after_opening);
}

/// Queues all work after the messages' arrival. `callers`: streams that wait for it; null if it is queued on them.
void Exchange::Impl::receive_all(const std::vector<Stream*>& streams, std::vector<Stream>* callers) {
  if (plan->host_driven) drive_host_routes();
  open = false;
  driven.close();
  waits->watched_delivery(sequence, streams, [&] {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      launches[i]->receive(sequence, *streams[i]);
      if (callers) launches[i]->join((*callers)[i]);
    }
    wait_if_asked(streams);
  });
  mark_encoded(streams, true);
}

void Exchange::Impl::require_unproduced(const char* what) const {
  if (plan->produces)
    throw Error(ErrorCode::wrong_state,
                std::string("an exchange of values that the caller's kernels store was given to ") + what +
                    "(), which would send what nobody has stored: call open(), the kernels, post() and end()",
                {{"problem", "produced"}, {"call", what}});
}

void Exchange::Impl::begin(std::vector<Stream>& streams) {
  const HostSpan span(plan->options.trace, "begin");
  require_unproduced("begin");
  start(streams);
  send_behind(streams, false);
  if (plan->options.poison)
    for (std::size_t i = 0; i < launches.size(); ++i) launches[i]->order_behind_poison(streams[i]);
}

void Exchange::Impl::open_windows(std::vector<Stream>& streams) {
  const HostSpan span(plan->options.trace, "open");
  in_turn(plan->produces,
          "an exchange was opened of which no item is produced: call begin(), or set ExchangeItem::produced",
          "not_produced");
  start(streams);
  opened = true;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    launches[i]->open(sequence, launches[i]->behind(streams[i]));
    launches[i]->join(streams[i]);
  }
}

void Exchange::Impl::post(std::vector<Stream>& streams) {
  const HostSpan span(plan->options.trace, "post");
  in_turn(opened, "an exchange was posted that was not opened", "not_opened");
  calls.check(streams);
  opened = false;
  send_behind(streams, true);
}

void Exchange::Impl::end(std::vector<Stream>& streams) {
  const HostSpan span(plan->options.trace, "end");
  in_turn(!opened, "an exchange was ended that was opened and not posted", "not_posted");
  in_turn(open, "an exchange was ended that was not begun", "not_begun");
  waits->check();
  receive_all(own_streams(), &streams);
  calls.end(streams);
  ask_at_end();
}

void Exchange::Impl::run(std::vector<Stream>& streams) {
  const HostSpan span(plan->options.trace, "run");
  require_unproduced("run");
  start(streams);
  std::vector<Stream*> callers;
  for (Stream& stream : streams) callers.push_back(&stream);
  if (!transfers && !plan->options.poison) {
    for (std::size_t i = 0; i < launches.size(); ++i) launches[i]->run(streams[i]);
    mark_encoded(callers, false);
    mark_encoded(callers, true);
  } else if (plan->capturable && !plan->options.trace && !captured(streams)) {
    // Replays the exchange as a recorded graph, unless the caller captures its streams or traces each message.
    const std::vector<Graph>& graphs = recording();
    waits->watched(sequence, callers, [&] {
      for (std::size_t i = 0; i < launches.size(); ++i) graphs[i].launch(streams[i]);
    });
  } else {
    send_all(callers, false);
    receive_all(callers, nullptr);
  }
  calls.end(streams);
  ask_at_end();
}

/// One graph launch per device replaces several launches per message. The graph is captured when its arrays are first
/// used.
const std::vector<Graph>& Exchange::Impl::recording() {
  std::vector<Graph>& graphs = recordings[combination];
  if (!graphs.empty()) return graphs;
  const std::vector<Stream*> own = own_streams();
  try {
    return graphs = record_graphs(own, [&] {
             send_all(own, false);
             receive_all(own, nullptr);
           });
  } catch (...) {
    open = false;
    --sequence;  // restores the count of exchanges: no work of the failed exchange has run
    throw;
  }
}

bool Exchange::Impl::progress() {
  if (!plan->host_driven || !open) return true;
  bool done = drive_states();
  for (const auto& each : launches) done &= each->progress(sequence);
  if (plan->options.trace) trace_states();
  return done;
}

/// Writes one trace row for the shared state of each route, and one for each sender and receiver.
void Exchange::Impl::trace_states() const {
  for (const auto& [kind, state] : states)
    plan->options.trace->state("rank " + std::to_string(grid.rank()) + " " + to_string(kind), state->waiting_for(),
                               "message");
  for (const auto& each : launches) each->trace_states();
}

std::pair<int, std::string> Exchange::Impl::who_waits() const {
  // To report a hang, asks message routes first, because only they know which part of a message is missing.
  for (const auto& [kind, state] : states)
    if (auto what = state->waiting_for(); !what.empty()) return {memory->devices.front()->index, std::move(what)};
  for (const auto& each : launches)
    if (auto what = each->waiting_for(); !what.empty()) return {each->memory().index, std::move(what)};
  return {};
}

void Exchange::Impl::drive_host_routes() {
  for (const auto& [kind, state] : states) state->ending(sequence);
  const auto done = [this] {
    if (progress()) return true;
    driven.drive_others();
    return false;
  };
  const double seconds = plan->options.wait_limit;
  if (asked_until(done, seconds)) return;
  const auto [device, whom] = who_waits();
  waits->give_up(whom.empty() ? plan->too_late(sequence, "nobody waits any more", "", seconds)
                              : plan->too_late(sequence, end_of(device, grid.rank()) + " waited for " + whom, "",
                                               seconds, {{"device", device}, {"whom", whom}}));
}

/// Error that names the values which this rank's kernels did not store; none if they stored all.
Problem Exchange::Impl::unwritten_here() const {
  std::int64_t all = 0;
  const Poisoning* where = nullptr;
  for (const auto& each : launches) {
    const std::int64_t left = each->poison()->left().count;
    all += left;
    if (!where && left) where = each->poison();
  }
  return where ? Problem(where->unwritten(sequence, all)) : Problem();
}

Exchange::Exchange(const Communicator& comm, const Grid& grid, std::vector<ExchangeItem> items, ExchangeOptions options)
    : impl_(std::make_unique<Impl>(comm, grid, std::move(items), std::move(options))) {}
Exchange::~Exchange() = default;
Exchange::Exchange(Exchange&&) noexcept = default;
void Exchange::bind(std::size_t item, ItemEnd end, const std::vector<void*>& arrays, std::vector<Stream>& streams) {
  impl_->calls.check(streams);
  impl_->arrays->bind(item, end, arrays, streams, impl_->open || impl_->opened);
}
void Exchange::begin(std::vector<Stream>& streams) { impl_->begin(streams); }
void Exchange::end(std::vector<Stream>& streams) { impl_->end(streams); }
void Exchange::open(std::vector<Stream>& streams) { impl_->open_windows(streams); }
void Exchange::post(std::vector<Stream>& streams) { impl_->post(streams); }
void Exchange::run(std::vector<Stream>& streams) { impl_->run(streams); }
bool Exchange::progress() { return impl_->progress(); }
const std::vector<MessageInfo>& Exchange::messages() const { return impl_->plan->messages; }
bool Exchange::needs_host() const { return impl_->plan->host_driven; }
bool Exchange::capturable() const { return impl_->plan->capturable; }
bool Exchange::limited_in_graphs() const { return impl_->plan->limited_in_graphs; }
bool Exchange::loopable() const { return impl_->loopable; }
std::uint64_t Exchange::sequence() const { return impl_->sequence; }

void Exchange::check() {
  impl_->waits->check();
  impl_->agreement->ask_last(impl_->sequence);
  impl_->agreement->check(impl_->sequence);
}

std::vector<double> Exchange::arrival_us() {
  std::vector<double> by_channel(impl_->plan->channels.size(), -1), times;
  for (const auto& each : impl_->launches) {
    each->arrivals(by_channel);
    impl_->check_known();
  }
  for (const std::size_t channel : impl_->plan->channel_of_message) times.push_back(by_channel[channel]);
  return times;
}

const Signal* Exchange::broken_on(Device device) const {
  const Launches* const on = impl_->on(device);
  require(on, ErrorCode::not_found, to_string(device) + " does not belong to this rank of the exchange");
  return on->memory().broken();
}

std::int64_t Exchange::bytes_on(Device device) const {
  const Launches* const on = impl_->on(device);
  return on ? bytes_of(on->memory().signals, on->memory().slots) + on->bytes() : 0;
}

const std::vector<Window>& Exchange::window_list(std::size_t item, Device device) const {
  const std::vector<PlannedItem>& items = impl_->plan->items;
  if (!(item < items.size() && items[item].produced))
    throw Error(
        ErrorCode::not_found,
        "item " + std::to_string(item) + " of an exchange has no windows: set ExchangeItem::produced when it is made",
        {{"item", item}});
  const Launches* const on = impl_->on(device);
  require(on, ErrorCode::not_found, to_string(device) + " does not belong to this rank of the exchange");
  return on->windows().at(item).list;
}

Exchange::WindowTable Exchange::window_table(std::size_t item, Device device, DType type) const {
  in_turn(impl_->opened, "windows of an exchange were asked for that is not open: call open() first", "not_opened");
  const std::vector<Window>& list = window_list(item, device);
  const FieldOptions& source = impl_->plan->items[item].source;
  if (type != source.type)
    throw Error(ErrorCode::mismatch,
                "windows of " + to_string(type) + " were asked for, and field " + source.name +
                    ", whose values they take, holds " + to_string(source.type),
                {{"field", source.name}, {"given", to_string(type)}, {"needed", to_string(source.type)}});
  const Launches& on = *impl_->on(device);
  const ProducedWindows& made = on.windows().at(item);
  const bool named = std::any_of(list.begin(), list.end(), [](const Window& w) { return w.array >= 0; });
  return {made.table.data(), made.first.data(), source.components, named ? on.arrays().on_device() : nullptr,
          on.memory().broken()};
}

}  // namespace slipstream

#include "exchange/launches.hpp"

#include <algorithm>

#include <slipstream/error.hpp>
#include <slipstream/trace.hpp>

#include "device/upload.hpp"
#include "mover/coded_movers.hpp"

namespace slipstream {
namespace {

/// Number of thread blocks for launches between begin and end, while the caller computes. A block on every second
/// multiprocessor leaves most of the device to the caller. A requested number is limited to one block per
/// multiprocessor. On the host 0 selects all threads.
int teams_per_user(Device device, int asked, int users) {
  if (device.backend == Backend::host) return asked;
  const int processors = info(device).processors / users;
  return std::max(1, asked > 0 ? std::min(asked, processors) : processors / 2);
}

/// Whether values are encoded in blocks, which takes more instructions than half of the multiprocessors have to spare.
bool in_blocks(const std::vector<Scheduled>& batches) {
  for (const Scheduled& each : batches)
    for (const Mover& mover : each.batch->movers)
      if (mover.recode != Recode::none && !mover.wire.by_value()) return true;
  return false;
}

/// Number of devices in the machine's list that are the same physical GPU as this one, which several ranks may share.
int users_of(const Machine& machine, int device) {
  const std::string& uuid = machine.device(device).uuid;
  if (uuid.empty()) return 1;
  int users = 0;
  for (int other = 0; other < machine.devices(); ++other) users += machine.device(other).uuid == uuid;
  return users;
}

/// Copy of a leg (one transfer's part of a message) that describes its decoded values: the same values, not coded.
Leg raw(const Leg& leg) {
  Leg decoded = leg;
  decoded.wire = Wire::same;
  decoded.block = {};
  return decoded;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

Launches::Launches(const Plan& plan, ExchangeMemory& memory, ItemArrays& arrays, DeviceMemory& mine)
    : plan_(plan),
      memory_(memory),
      arrays_(arrays),
      mine_(mine),
      on_(arrays.of(mine)),
      before_(mine.device),
      after_(mine.device),
      encoded_(mine.device),
      combiner_(mine.device) {
  if (plan.options.poison) poison_.emplace(plan, arrays, on_);
}

Pulse Launches::pulse() const {
  Pulse pulse = mine_.pulse();
  pulse.stamps = stamps_.data();
  return pulse;
}

// Set-up: creates the senders, receivers and kernel launches of a device. ------------------------------------------

template <class F>
void Launches::in_room_for_end(const char* doing, std::size_t channel, F make) const {
  try {
    make();
  } catch (const OutOfMemory& error) {
    const Message& m = channel_of(channel).message;
    const std::string by = to_string(channel_of(channel).choice.route);
    const int rank = plan_.grid.rank();
    throw OutOfMemory(
        "no room on rank " + std::to_string(rank) + " for " + doing + " the message of " + std::to_string(m.bytes) +
            " B from device " + std::to_string(m.source) + " to device " + std::to_string(m.target) + " by " + by +
            ": " + error.what() + "; fewer ghost layers or quantities in one exchange take less",
        joined(error.facts(),
               {{"purpose", doing}, {"rank", rank}, {"source", m.source}, {"target", m.target}, {"route", by}}));
  }
}

EndSite Launches::site_of(const Channel& channel) {
  EndSite site{.device = mine_.device, .arena = mine_.arena};
  site.legs = channel.bundle->legs;
  site.receive_buffer = memory_.receive_buffer_of(channel, mine_.device);
  site.pulse = pulse();
  site.arrays = &on_.table;
  site.trace = plan_.options.trace;
  return site;
}

void Launches::add_sender(std::size_t number) {
  const Channel& channel = channel_of(number);
  in_room_for_end("packing", number, [&] {
    EndSite site = site_of(channel);
    site.sources = arrays_.places(channel, ItemEnd::source, on_);
    if (channel.need.in_place) site.targets = arrays_.places(channel, ItemEnd::target, on_);
    outgoing_.push_back({route(channel.choice.route).sender(channel.message, site), number});
  });
}

void Launches::add_receiver(std::size_t number) {
  const Channel& channel = channel_of(number);
  in_room_for_end("unpacking", number, [&] {
    EndSite& site = receive_sites_.emplace_back(site_of(channel));
    site.targets = arrays_.places(channel, ItemEnd::target, on_);
    incoming_.push_back({route(channel.choice.route).receiver(channel.message, site), number});
  });
}

/// Lets each batch of copies count its end in a new counter. Returns waits for these ends, for use by later batches.
std::vector<Wait> Launches::waits_for(const std::vector<Batch*>& batches) {
  Span<Signal>& counters =
      counters_.emplace_back(mine_.arena.take<Signal>(std::max<std::size_t>(1, batches.size()) * signal_line));
  fill(mine_.stream, counters.data(), 0, counters.bytes());
  mine_.stream.synchronize();
  Signal* counter = counters.data();
  std::vector<Wait> waits;
  for (Batch* batch : batches) {
    batch->after.push_back(counter);
    waits.push_back({counter, 0, mine_.index});
    counter += signal_line;
  }
  return waits;
}

/// Packing and combining may run in the same launch. Combining must not change values that thread blocks still pack.
std::vector<Wait> Launches::waits_for_packing() {
  std::vector<Batch*> packings;
  for (const Outgoing& out : outgoing_)
    for (Batch& batch : out.end->batches) packings.push_back(&batch);
  return waits_for(packings);
}

/// Decodes received values that are coded in blocks into memory of their own, where they are combined like raw values.
void Launches::decode_apart() {
  for (const Incoming& in : incoming_)
    for (Arrived& arrived : in.end->arrived) {
      if (!channel_of(in.channel).message.combines || arrived.leg->wire.by_value()) continue;
      const Leg& decoded = decoded_legs_.emplace_back(raw(*arrived.leg));
      std::byte* const to = decodings_.emplace_back(mine_.arena.take<std::byte>(decoded.bytes())).data();
      // A message to combine with other values is decoded as a whole after its arrival, by its first batch of copies.
      append(in.end->batches.front().movers, Lowering::decoding(*arrived.leg, arrived.values, to));
      arrived = {&decoded, to};
    }
}

/// Creates a batch of copies for each set of messages whose values are combined with one another, such as summed. It
/// starts when these messages have arrived. Values are added in the order of blocks, whichever message comes first.
/// The receive buffers become free once all batches have run.
void Launches::combine() {
  decode_apart();
  std::vector<Contributor> contributors;
  std::vector<std::vector<Wait>> arrivals(incoming_.size());
  std::vector<Signal*> after;
  for (std::size_t m = 0; m < incoming_.size(); ++m) {
    if (!channel_of(incoming_[m].channel).message.combines) continue;
    Receiver& receiver = *incoming_[m].end;
    std::vector<Batch*> decoding;
    for (Batch& batch : receiver.batches) {
      append(arrivals[m], batch.before);
      append(after, batch.after);
      batch.after.clear();  // decoding must not free the receive buffer, which still holds values that are not decoded
      if (!batch.movers.empty()) decoding.push_back(&batch);
    }
    if (decoding.empty()) {
      receiver.batches.clear();
    } else {
      append(arrivals[m], waits_for(decoding));
    }
    for (const Arrived& arrived : receiver.arrived)
      contributors.push_back({arrived, arrays_.place_of(*arrived.leg, ItemEnd::target, on_), m});
  }
  const auto sooner = [](const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
    return a.size() != b.size() ? a.size() < b.size() : a > b;  // values combined from fewer messages come first
  };
  std::map<std::vector<std::size_t>, Batch, decltype(sooner)> groups(sooner);
  for (const Combined& combined : combiner_.movers(contributors))
    groups[combined.messages].movers.push_back(combined.mover);
  const std::vector<Wait> packed = waits_for_packing();
  for (auto& [messages, batch] : groups) {
    for (const std::size_t m : messages) append(batch.before, arrivals[m]);
    append(batch.before, packed);
    batch.after = after;
    batch.family = 1;
    combining_.push_back({std::move(batch), messages.size() == 1 ? std::optional(messages.front()) : std::nullopt});
  }
}

Schedule Launches::schedule_of(const Batch& opening) const {
  Traffic traffic;
  if (!opening.after.empty()) traffic.opening = &opening;
  for (const Incoming& in : incoming_) {
    traffic.incoming.emplace_back();
    for (const Batch& batch : in.end->batches) traffic.incoming.back().push_back(&batch);
  }
  for (const auto& [batch, message] : combining_) {
    traffic.combining.push_back(&batch);
    if (message) traffic.completing[&batch] = *message;
  }
  for (const Outgoing& out : outgoing_) {
    const Channel& c = channel_of(out.channel);
    const bool completes = traits_of(c.choice.route).within_device && !c.message.through_slots();
    const auto own =
        std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& in) { return in.channel == out.channel; });
    for (const Batch& batch : out.end->batches) {
      traffic.outgoing.push_back(&batch);
      if (completes) traffic.completing[&batch] = static_cast<std::size_t>(own - incoming_.begin());
    }
  }
  for (const Channel& c : plan_.channels) {
    if (c.need.chunks <= c.need.depth || (c.message.target != mine_.index && c.message.source != mine_.index)) continue;
    traffic.depth = traffic.depth ? std::min(traffic.depth, c.need.depth) : c.need.depth;
  }
  return Schedule(traffic);
}

void Launches::make_windows() {
  const std::vector<std::int64_t>& local = plan_.grid.local();
  for (std::size_t i = 0; i < plan_.items.size(); ++i) {
    if (!plan_.items[i].produced) continue;
    const int components = plan_.items[i].source.components;
    const auto place = [&](const Window& w) {
      const auto block = std::lower_bound(local.begin(), local.end(), w.block) - local.begin();
      return static_cast<std::size_t>(block) * static_cast<std::size_t>(components) +
             static_cast<std::size_t>(w.component);
    };
    ProducedWindows& made = windows_[i];
    for (const Outgoing& out : outgoing_)
      for (const Window& w : out.end->windows)
        if (w.item == static_cast<int>(i)) made.list.push_back(w);
    std::stable_sort(made.list.begin(), made.list.end(),
                     [&](const Window& a, const Window& b) { return place(a) < place(b); });
    std::vector<std::int32_t> first(local.size() * static_cast<std::size_t>(components) + 1, 0);
    for (Window& w : made.list) {
      ++first[place(w) + 1];
      on_.count_from_array(w);
    }
    for (std::size_t n = 1; n < first.size(); ++n) first[n] += first[n - 1];
    mine_.in_room_for("the windows of what is produced", [&] {
      made.table = upload(mine_.device, made.list);
      made.first = upload(mine_.device, first);
    });
  }
}

/// Creates the launch of one thread block that signals which memory here the caller's kernels on other devices may
/// write. Then it waits until this device's kernels may write their targets.
void Launches::make_opening(const Batch& opened) {
  Batch waits;
  for (const Outgoing& out : outgoing_)
    if (channel_of(out.channel).message.produced)
      for (const Batch& batch : out.end->batches) append(waits.before, batch.before);
  std::vector<Scheduled> both{{&opened, 0, 0, 0}};
  if (!waits.before.empty()) both.push_back({&waits, 1, 1, 0});
  mine_.in_room_for("the tables of the launches", [&] { opening_ = Program(mine_.device, both, nullptr, 1); });
}

/// Creates kernels that measure the errors of encoded values, and of rounded values that stay on a device.
void Launches::make_probes() {
  for (Outgoing& out : outgoing_) {
    std::vector<Mover> coded;
    const auto take = [&](const std::vector<Mover>& movers) {
      for (const Mover& mover : movers) {
        if (mover.recode == Recode::encode || mover.recode == Recode::round) coded.push_back(by_values(mover));
        if (mover.recode == Recode::encode) out.encoders.push_back(mover);
      }
    };
    for (const Batch& batch : out.end->batches) take(batch.movers);
    take(out.end->apart);
    if (!coded.empty()) out.probe.emplace(mine_.device, coded, on_.table);
  }
}

void Launches::make_programs(const std::optional<Reads>& reads) {
  if (poison_)
    for (const Incoming& in : incoming_) poison_->hold_release(in.end->batches);
  // If a field is moved onto itself, everything is packed before anything is unpacked.
  if (plan_.overlaps)
    mine_.in_room_for("the counters", [&] {
      const std::vector<Wait> packed = waits_for_packing();
      for (const Incoming& in : incoming_)
        for (Batch& batch : in.end->batches) append(batch.before, packed);
    });
  if (std::any_of(incoming_.begin(), incoming_.end(),
                  [&](const Incoming& in) { return channel_of(in.channel).message.combines; }))
    mine_.in_room_for("the tables of what is combined", [&] { combine(); });
  Batch opening;
  for (const Outgoing& out : outgoing_) {
    transfers_ |= out.end->transfers();
    for (const Batch& batch : out.end->batches) encodes_late_ |= batch.late;
  }
  for (const Incoming& in : incoming_) {
    transfers_ |= in.end->transfers();
    delivers_ |= in.end->delivers();
    append(opening.after, in.end->opened);
  }
  if (plan_.produces) {
    make_windows();
    make_opening(opening);
    opening.after.clear();
  }
  Schedule schedule = schedule_of(opening);
  for (std::size_t r = 0; r < incoming_.size(); ++r) incoming_[r].stamp = schedule.message_stamp[r];
  mine_.in_room_for("the times",
                    [&] { stamps_ = mine_.arena.take<std::uint64_t>(static_cast<std::size_t>(schedule.stamps) + 1); });
  fill(mine_.stream, stamps_.data(), 0, stamps_.bytes());
  mine_.stream.synchronize();
  const Batch nothing;
  // Some launch must advance the exchange's sequence number if a host or device waits for it.
  const bool alone = outgoing_.empty() && incoming_.empty();
  if (schedule.early.empty() && !alone) schedule.early.push_back({&nothing, 0, 0, 0});
  std::vector<Scheduled> both = schedule.early;
  append(both, schedule.late);
  const int teams = plan_.options.knobs.teams, users = users_of(plan_.grid.machine(), mine_.index);
  const auto teams_of = [&](const std::vector<Scheduled>& batches) {
    return in_blocks(batches) ? teams : teams_per_user(mine_.device, teams, users);
  };
  mine_.in_room_for("the tables of the launches", [&] {
    first_ = Program(mine_.device, schedule.early, &on_.table, teams_of(schedule.early), users);
    last_ = Program(mine_.device, schedule.late, &on_.table, teams_of(schedule.late), users);
    whole_ = Program(mine_.device, both, &on_.table, teams, users);
    on_.upload();
    if (plan_.options.measure_errors) make_probes();
    if (!poison_) return;
    std::vector<const Leg*> received;
    for (const Incoming& in : incoming_)
      for (const Leg& leg : channel_of(in.channel).bundle->legs) received.push_back(&leg);
    std::vector<Window> produced;
    for (const auto& [item, windows] : windows_) append(produced, windows.list);
    poison_->make(received, produced, *reads);
  });
}

// Run: queues the work of one exchange on the device. ---------------------------------------------------------------

Stream& Launches::behind(Stream& caller) {
  caller.record(before_);
  mine_.stream.wait(before_);
  return mine_.stream;
}

void Launches::join(Stream& caller) {
  mine_.stream.record(after_);
  caller.wait(after_);
}

void Launches::start(std::uint64_t number, Stream& stream) {
  for (const Incoming& in : incoming_) in.end->post(stream, number);
  if (!poison_) return;
  for (const Outgoing& out : outgoing_) out.end->poison(stream);
  poison_->fill(stream);
}

void Launches::open(std::uint64_t number, Stream& stream) {
  start(number, stream);
  {
    const DeviceSpan waiting(plan_.options.trace, stream, "exchange", "open", "wait");
    opening_.run(stream, pulse(), true);
  }
  if (poison_) poison_->fill_windows(stream);
}

/// Measures coding errors before the exchange changes any value.
void Launches::measure_errors(Stream& stream) const {
  for (const Outgoing& out : outgoing_)
    if (out.probe) out.probe->run(stream);
}

void Launches::send(Stream& stream, bool opened) {
  if (opened && poison_) poison_->look(stream);
  measure_errors(stream);
  const DeviceSpan span(plan_.options.trace, stream, "exchange", "send", "kernel");
  first_.run(stream, pulse(), !opened);
}

void Launches::transfer(std::uint64_t number, Stream& stream) {
  const DeviceSpan span(plan_.options.trace, stream, "exchange", "transfer", "copy");
  for (const Outgoing& out : outgoing_) out.end->transfer(stream, number);
  for (const Outgoing& out : outgoing_) out.end->join(stream);
  for (const Incoming& in : incoming_) in.end->transfer(stream, number);
}

void Launches::receive(std::uint64_t number, Stream& stream) {
  Trace* const trace = plan_.options.trace;
  if (delivers_) {
    const DeviceSpan span(trace, stream, "exchange", "deliver", "copy");
    for (const Incoming& in : incoming_)
      if (in.end->delivers()) in.end->deliver(stream, number);
  }
  const DeviceSpan span(trace, stream, "exchange", "receive", "kernel");
  last_.run(stream, pulse(), false);
  if (!poison_) return;
  for (const Incoming& in : incoming_) in.end->poison(stream);
  poison_->release(stream, pulse());
}

void Launches::run(Stream& stream) {
  measure_errors(stream);
  const DeviceSpan span(plan_.options.trace, stream, "exchange", "exchange", "kernel");
  whole_.run(stream, pulse(), true);
}

void Launches::mark_encoded(Stream& stream, bool late) {
  if (encodes_late_ == late) stream.record(encoded_);
}

// Host: drives senders and receivers, and reads results from the device. --------------------------------------------

bool Launches::progress(std::uint64_t number) {
  bool done = true;
  for (const Outgoing& out : outgoing_) done &= out.end->progress(number);
  for (const Incoming& in : incoming_) done &= in.end->progress(number);
  return done;
}

std::string Launches::waiting_for() const {
  for (const Incoming& in : incoming_)
    if (auto what = in.end->waiting_for(); !what.empty()) return what;
  for (const Outgoing& out : outgoing_)
    if (auto what = out.end->waiting_for(); !what.empty()) return what;
  return {};
}

/// Writes one trace row for each sender and receiver that the host drives, with the message for which it waits.
void Launches::trace_states() const {
  Trace& trace = *plan_.options.trace;
  const std::string device = to_string(mine_.device);
  for (std::size_t n = 0; n < outgoing_.size(); ++n)
    trace.state(device + " sender " + std::to_string(n), outgoing_[n].end->waiting_for(), "message");
  for (std::size_t n = 0; n < incoming_.size(); ++n)
    trace.state(device + " receiver " + std::to_string(n), incoming_[n].end->waiting_for(), "message");
}

void Launches::drop_ends() {
  outgoing_.clear();
  incoming_.clear();
}

void Launches::arrivals(std::vector<double>& by_channel) {
  const auto stamps = mine_.arena.take<std::uint64_t>(stamps_.size(), Memory::pinned);
  synchronize(mine_.device);
  copy(mine_.stream, stamps.data(), stamps_.data(), stamps.bytes());
  mine_.stream.synchronize();
  const std::uint64_t begun = stamps.data()[0];
  for (const Incoming& in : incoming_)
    if (in.stamp && stamps.data()[in.stamp] > begun)
      by_channel[in.channel] = static_cast<double>(stamps.data()[in.stamp] - begun) / 1e3;
}

std::vector<MeasuredCoding> Launches::measured_codings() const {
  std::vector<MeasuredCoding> all;
  for (const Outgoing& out : outgoing_) {
    if (!out.probe) continue;
    const Message& m = channel_of(out.channel).message;
    all.push_back({m.source, m.target, out.probe->sums(), {}});
    if (!out.encoders.empty()) all.back().times = time_coding(mine_.device, out.encoders, on_.table);
  }
  return all;
}

std::int64_t Launches::bytes() const {
  std::int64_t bytes = bytes_of(stamps_, on_.table.device);
  for (const Span<Signal>& counters : counters_) bytes += bytes_of(counters);
  for (const Outgoing& out : outgoing_) bytes += out.end->bytes() + (out.probe ? out.probe->bytes() : 0);
  for (const Incoming& in : incoming_) bytes += in.end->bytes();
  for (const auto& [item, windows] : windows_) bytes += bytes_of(windows.table, windows.first);
  for (const Program* program : {&first_, &last_, &whole_, &opening_}) bytes += program->bytes();
  return bytes + (poison_ ? poison_->bytes() : 0);
}

}  // namespace slipstream

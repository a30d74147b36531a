#include <slipstream/trace.hpp>

#include <chrono>
#include <cstdio>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <new>
#include <vector>

#include "device/decimal_point.hpp"

namespace slipstream {
namespace {

struct TraceSpan {
  int row;
  std::string name, category;
  double start = 0, duration = 0;  // times in microseconds since the start of the trace
};

/// Device work in the trace whose end has not been observed yet.
struct Pending {
  std::int64_t span;
  Event from, to;
  bool closed = false;
};

/// Relates the clock of a device to that of the host: an event that passed at a known host time.
struct Reference {
  Event event;
  double at;
};

struct State {
  std::string name, category;
  double start;
};

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + "\"";
}

std::string number(double value) {
  const DecimalPoint point;
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

}  // namespace

struct Trace::Impl {
  using Clock = std::chrono::steady_clock;

  double now() const { return std::chrono::duration<double, std::micro>(Clock::now() - made).count(); }

  bool full() {
    if (static_cast<std::int64_t>(spans.size()) < most) return false;
    ++dropped;
    return true;
  }

  int row(const std::string& name) { return rows.try_emplace(name, static_cast<int>(rows.size())).first->second; }

  const Reference& reference(Device device) {
    if (const auto found = references.find(device); found != references.end()) return found->second;
    // The stream is idle, so the event passes as soon as it is recorded.
    Stream stream(device);
    Reference best{Event(device, true), 0};
    double least = std::numeric_limits<double>::infinity();
    // Host time of a GPU event: the middle between record() and the end of synchronize(). The fastest try is best.
    constexpr int tries = 8;
    for (int n = 0; n < tries; ++n) {
      const Event event(device, true);
      const double before = now();
      stream.record(event);
      event.synchronize();
      const double way = now() - before;
      if (way >= least) continue;
      least = way;
      best = {event, before + way / 2};
    }
    return references.emplace(device, best).first->second;
  }

  /// Converts the events of finished work to times. Other work stays pending, unless `wait` is set.
  void settle(bool wait) {
    while (!pending.empty() && pending.front().second.closed) {
      auto& [device, p] = pending.front();
      if (wait) p.to.synchronize();
      if (!p.to.done()) return;
      const Reference& clock = reference(device);
      TraceSpan& span = spans[static_cast<std::size_t>(p.span)];
      span.start = clock.at + 1e3 * milliseconds(clock.event, p.from);
      span.duration = 1e3 * milliseconds(p.from, p.to);
      pending.pop_front();
    }
  }

  Clock::time_point made = Clock::now();
  double epoch = std::chrono::duration<double, std::micro>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::int64_t most = 0, dropped = 0;
  std::vector<TraceSpan> spans;
  std::map<std::string, int> rows;
  std::map<Device, Reference> references;
  std::map<std::string, State> states;
  std::deque<std::pair<Device, Pending>> pending;
};

Trace::Trace(std::int64_t most) : impl_(std::make_unique<Impl>()) { impl_->most = most; }
Trace::~Trace() = default;
double Trace::now() const { return impl_->now(); }
std::int64_t Trace::size() const { return static_cast<std::int64_t>(impl_->spans.size()); }
std::int64_t Trace::dropped() const { return impl_->dropped; }
double Trace::system_epoch_us() const { return impl_->epoch; }

// Adds a finished span. Destructors call this, possibly during exception handling, so it must not throw.
void Trace::add(const std::string& row, const std::string& name, const std::string& category, double start) try {
  if (!impl_->full()) impl_->spans.push_back({impl_->row(row), name, category, start, now() - start});
} catch (const std::bad_alloc&) {
  ++impl_->dropped;
}

void Trace::state(const std::string& row, const std::string& name, const std::string& category) {
  const auto found = impl_->states.find(row);
  if (found != impl_->states.end()) {
    if (found->second.name == name) return;
    add(row, found->second.name, found->second.category, found->second.start);
    impl_->states.erase(found);
  }
  if (!name.empty()) impl_->states.emplace(row, State{name, category, now()});
}

std::int64_t Trace::open(const std::string& row, const std::string& name, const std::string& category, Stream& stream) {
  if (impl_->full()) return -1;
  const Device device = stream.device();
  impl_->reference(device);
  impl_->settle(false);
  const std::int64_t span = size();
  impl_->spans.push_back({impl_->row(row), name, category, 0, -1});
  impl_->pending.push_back({device, {span, Event(device, true), Event(device, true)}});
  stream.record(impl_->pending.back().second.from);
  return span;
}

void Trace::close(std::int64_t span, Stream& stream) {
  if (span < 0) return;
  for (auto entry = impl_->pending.rbegin(); entry != impl_->pending.rend(); ++entry)
    if (entry->second.span == span) {
      // Destructors of spans call this. A failed stream reports its error at its next use; the span then has no end.
      try {
        stream.record(entry->second.to);
        entry->second.closed = true;
      } catch (...) {
        impl_->pending.erase(std::next(entry).base());
      }
      return;
    }
}

std::string Trace::json(int rank, double epoch) {
  impl_->settle(true);
  const double offset = epoch > 0 ? impl_->epoch - epoch : 0;
  const std::string pid = "\"pid\": " + std::to_string(rank);
  std::string text = "{\"traceEvents\": [\n{\"ph\": \"M\", \"name\": \"process_name\", " + pid +
                     ", \"args\": {\"name\": \"rank " + std::to_string(rank) + "\"}}";
  for (const auto& [name, row] : impl_->rows)
    text += ",\n{\"ph\": \"M\", \"name\": \"thread_name\", " + pid + ", \"tid\": " + std::to_string(row) +
            ", \"args\": {\"name\": " + quoted(name) + "}}";
  for (const TraceSpan& span : impl_->spans)
    if (span.duration >= 0)
      text += ",\n{\"ph\": \"X\", " + pid + ", \"tid\": " + std::to_string(span.row) +
              ", \"name\": " + quoted(span.name) + ", \"cat\": " + quoted(span.category) +
              ", \"ts\": " + number(span.start + offset) + ", \"dur\": " + number(span.duration) + "}";
  return text + "\n], \"displayTimeUnit\": \"ns\", \"dropped\": " + std::to_string(impl_->dropped) + "}\n";
}

}  // namespace slipstream

#include "exchange/watchdog.hpp"

#include <algorithm>

#include <slipstream/error.hpp>

#include "machine/timeout.hpp"

namespace slipstream {
namespace {

std::chrono::steady_clock::duration duration_of(double seconds) {
  using Duration = std::chrono::steady_clock::duration;
  const std::uint64_t ns = wait_limit_ns(seconds, "a watchdog");
  if (ns > static_cast<std::uint64_t>(longest_wait * 1e9)) return Duration::max();
  return std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(ns));
}

/// Interval between checks: long enough to cost nothing, short enough to detect timeouts promptly.
std::chrono::steady_clock::duration pause_for(std::chrono::steady_clock::duration limit) {
  return std::clamp<std::chrono::steady_clock::duration>(limit / 20, std::chrono::milliseconds(1),
                                                         std::chrono::milliseconds(50));
}

}  // namespace

Watchdog::Watchdog(double seconds, Late late, double first_seconds)
    : limit_(duration_of(seconds)),
      first_limit_(std::max(limit_, duration_of(first_seconds))),
      late_(std::move(late)),
      thread_([this] { look(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::vector<Watchdog::Span> Watchdog::fresh(const std::vector<Stream*>& streams) {
  const std::lock_guard lock(mutex_);
  if (!spare_.empty()) {
    std::vector<Span> spans = std::move(spare_.back());
    spare_.pop_back();
    return spans;
  }
  std::vector<Span> spans;
  for (const Stream* stream : streams) spans.push_back({Event(stream->device()), Event(stream->device()), {}});
  return spans;
}

void Watchdog::open(std::uint64_t number, const std::vector<Stream*>& streams) {
  Shift shift{number, Clock::now(), false, fresh(streams)};
  for (std::size_t i = 0; i < streams.size(); ++i) streams[i]->record(shift.spans[i].begun);
  {
    const std::lock_guard lock(mutex_);
    shifts_.push_back(std::move(shift));
  }
  changed_.notify_one();
}

void Watchdog::close(const std::vector<Stream*>& streams) {
  const std::lock_guard lock(mutex_);
  Shift& shift = shifts_.back();
  for (std::size_t i = 0; i < streams.size(); ++i) streams[i]->record(shift.spans[i].ended);
  shift.closed = true;
}

bool Watchdog::watch(std::uint64_t number, const std::vector<Stream*>& streams, const std::function<void()>& work) {
  if (std::any_of(streams.begin(), streams.end(), [](const Stream* s) { return s->capturing(); })) {
    work();
    return false;
  }
  open(number, streams);
  try {
    work();
  } catch (const Error&) {
    check();
    throw;
  }
  close(streams);
  return true;
}

void Watchdog::check() const {
  const std::lock_guard lock(mutex_);
  if (complaint_) throw Timeout(*complaint_);
}

void Watchdog::complain(const Timeout& timeout) {
  const std::lock_guard lock(mutex_);
  complaint_ = timeout;
}

bool Watchdog::over(Shift& shift) {
  return shift.closed &&
         std::all_of(shift.spans.begin(), shift.spans.end(), [](const Span& span) { return span.ended.done(); });
}

std::optional<std::size_t> Watchdog::late_stream(Shift& shift) const {
  const Clock::time_point now = Clock::now();
  if (!shift.closed) return now - shift.opened > limit() ? std::optional<std::size_t>(0) : std::nullopt;
  for (std::size_t i = 0; i < shift.spans.size(); ++i) {
    Span& span = shift.spans[i];
    if (span.ended.done() || !span.begun.done()) continue;
    if (!span.since) span.since = now;
    if (now - *span.since > limit()) return i;
  }
  return {};
}

void Watchdog::look() try {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (shifts_.empty()) {
      changed_.wait(lock);
      continue;
    }
    Shift& oldest = shifts_.front();
    if (over(oldest)) {
      for (Span& span : oldest.spans) span.since.reset();
      spare_.push_back(std::move(oldest.spans));
      shifts_.pop_front();
      young_ = false;
      continue;
    }
    if (const auto stream = late_stream(oldest)) {
      const std::uint64_t number = oldest.number;
      const double seconds = std::chrono::duration<double>(limit()).count();
      // The watchdog's thread ends here: later work would only be late too. The lock is released because the callback
      // may call complain().
      lock.unlock();
      late_(*this, number, *stream, seconds);
      return;
    }
    changed_.wait_for(lock, pause_for(limit_));
  }
} catch (...) {
  // A failed device needs no timeout; the next call on its streams reports the failure.
}

}  // namespace slipstream

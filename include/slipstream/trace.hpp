#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/stream.hpp>

namespace slipstream {

/// Timeline of the host, the streams and the state machines of this rank, on one clock. Device work is timed by events
/// around it, host work by the host's clock. A reference event on each device, recorded at its first use, aligns the
/// two to within the time of one synchronization. Not for work that is being captured into a graph. One host thread may
/// use it.
class Trace {
 public:
  /// Creates an empty timeline. It records at most `most` intervals, and drops later ones.
  explicit Trace(std::int64_t most = 100000);
  ~Trace();

  /// Microseconds since the trace was made.
  double now() const;
  /// Adds a span from `start` to now, on the timeline's row of this name.
  void add(const std::string& row, const std::string& name, const std::string& category, double start);
  /// Sets the state of a row of the timeline from now on and ends the state before; empty: no state.
  void state(const std::string& row, const std::string& name, const std::string& category);
  /// Times device work. Call open() before the work is queued on a stream, and close() after it. open() returns the
  /// number of the interval for close(), or -1 if it is not recorded.
  std::int64_t open(const std::string& row, const std::string& name, const std::string& category, Stream& stream);
  void close(std::int64_t span, Stream& stream);

  /// size(): number of recorded intervals, including unfinished ones. dropped(): number of those beyond the limit.
  std::int64_t size() const;
  std::int64_t dropped() const;
  /// Chrome-trace JSON: waits for the recorded work. Times count from `epoch`, of system_epoch_us().
  std::string json(int rank, double epoch = 0);
  /// Time of construction by the system's clock, which the ranks of one machine share.
  double system_epoch_us() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Records the time from construction to destruction of this object as host work; costs nothing without a trace.
class HostSpan {
 public:
  HostSpan(Trace* trace, const char* name, const char* category = "host")
      : trace_(trace), name_(name), category_(category), start_(trace ? trace->now() : 0) {}
  ~HostSpan() {
    if (trace_) trace_->add("host", name_, category_, start_);
  }
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;

 private:
  Trace* trace_;
  const char *name_, *category_;
  double start_;
};

/// Records the device work that is queued on a stream during the lifetime of this object; free without a trace.
class DeviceSpan {
 public:
  template <class Name>
  DeviceSpan(Trace* trace, Stream& stream, const std::string& row, const Name& name, const char* category)
      : trace_(trace), stream_(stream) {
    if (trace_) span_ = trace_->open(to_string(stream.device()) + " " + row, name, category, stream);
  }
  ~DeviceSpan() {
    if (trace_) trace_->close(span_, stream_);
  }
  DeviceSpan(const DeviceSpan&) = delete;
  DeviceSpan& operator=(const DeviceSpan&) = delete;

 private:
  Trace* trace_;
  Stream& stream_;
  std::int64_t span_ = -1;
};

/// Records the device work that is queued on several streams during the lifetime of this object.
class DeviceSpans {
 public:
  DeviceSpans(Trace* trace, std::vector<Stream>& streams, const char* row, const char* name, const char* category)
      : trace_(trace), streams_(streams) {
    for (std::size_t d = 0; trace_ && d < streams.size(); ++d)
      spans_.push_back(trace_->open(to_string(streams[d].device()) + " " + row, name, category, streams[d]));
  }
  ~DeviceSpans() {
    for (std::size_t d = 0; d < spans_.size(); ++d) trace_->close(spans_[d], streams_[d]);
  }
  DeviceSpans(const DeviceSpans&) = delete;
  DeviceSpans& operator=(const DeviceSpans&) = delete;

 private:
  Trace* trace_;
  std::vector<Stream>& streams_;
  std::vector<std::int64_t> spans_;
};

}  // namespace slipstream

#pragma once
// Ends what a library's kernels, which have no limit of their own, wait for in vain.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <slipstream/error.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Looks from a thread of its own whether queued work ends in time: a shift for each exchange, or all-reduce. Time
/// counts from when the device has reached the work; while the host still queues it, from when it began to.
class Watchdog {
 public:
  /// Called once, from the watchdog's thread, for which whoever holds the watchdog may just be ending it: the shift's
  /// number, which of its streams is late, and the limit that it had.
  using Late = std::function<void(Watchdog& watchdog, std::uint64_t number, std::size_t stream, double seconds)>;

  /// In its first work a library may set up what it needs: NCCL connects pairs of devices, in 1 to 4 s on four H200s.
  static constexpr double set_up_seconds = 60;

  /// The first shift may last `first_seconds`, where those are more.
  Watchdog(double seconds, Late late, double first_seconds = set_up_seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// What is queued from here to close() belongs to a shift. Not while a stream is being captured.
  void open(std::uint64_t number, const std::vector<Stream*>& streams);
  void close(const std::vector<Stream*>& streams);

  /// Queues work as a shift; unwatched where a stream is being captured: false then. Throws Timeout where the work
  /// failed because the watchdog had ended it.
  bool watch(std::uint64_t number, const std::vector<Stream*>& streams, const std::function<void()>& work);

  /// Throws Timeout where somebody complained.
  void check() const;
  void complain(const Timeout& timeout);

 private:
  using Clock = std::chrono::steady_clock;
  struct Span {
    Event begun, ended;
    std::optional<Clock::time_point> since;  // when it was first seen to run
  };
  struct Shift {
    std::uint64_t number = 0;
    Clock::time_point opened;
    bool closed = false;
    std::vector<Span> spans;
  };

  void look();
  bool over(Shift& shift);
  std::optional<std::size_t> late_stream(Shift& shift) const;
  std::vector<Span> fresh(const std::vector<Stream*>& streams);

  Clock::duration limit() const { return young_ ? first_limit_ : limit_; }

  const Clock::duration limit_, first_limit_;
  const Late late_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Shift> shifts_;              // the oldest first; the last may be open
  std::vector<std::vector<Span>> spare_;  // to be used again
  std::optional<Timeout> complaint_;
  bool young_ = true;  // no shift has ended yet
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace slipstream

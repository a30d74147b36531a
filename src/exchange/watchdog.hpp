#pragma once
// Timeout for the kernels of libraries, which have no timeout of their own.
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

/// Checks in a separate thread whether queued work ends in time. A shift is the work of one exchange or all-reduce. Its
/// time starts when the device reaches the work. While the host still queues it, the time starts when the host began.
class Watchdog {
 public:
  /// Callback for late work, called once from the watchdog's thread, possibly while the watchdog's owner is being
  /// destroyed. Arguments: the number of the exchange or all-reduce, the index of the late stream, and the timeout.
  using Late = std::function<void(Watchdog& watchdog, std::uint64_t number, std::size_t stream, double seconds)>;

  /// The first work of a library may include its set-up: NCCL connects pairs of devices in 1 to 4 s on four H200.
  static constexpr double set_up_seconds = 60;

  /// The first shift (watched work of one exchange) may last `first_seconds`, if that is more than `seconds`.
  Watchdog(double seconds, Late late, double first_seconds = set_up_seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// open() and close() enclose queueing of work that the watchdog times; not during graph capture, which runs nothing.
  void open(std::uint64_t number, const std::vector<Stream*>& streams);
  void close(const std::vector<Stream*>& streams);

  /// Runs `work`, which queues kernels on the streams, and watches whether these end in time. Returns false, without a
  /// watch, if a stream is being captured. Throws Timeout if the work failed because the watchdog had ended it.
  bool watch(std::uint64_t number, const std::vector<Stream*>& streams, const std::function<void()>& work);

  /// Throws the Timeout that was passed to complain(), if any.
  void check() const;
  void complain(const Timeout& timeout);

 private:
  using Clock = std::chrono::steady_clock;
  struct Span {
    Event begun, ended;
    std::optional<Clock::time_point> since;  // time when the device was first seen to run the work
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
  std::deque<Shift> shifts_;              // watched work that has not ended, oldest first; the last may be open
  std::vector<std::vector<Span>> spare_;  // events of ended work, for reuse
  std::optional<Timeout> complaint_;
  bool young_ = true;  // whether no watched work has ended yet
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace slipstream

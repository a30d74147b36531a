#include "machine/timeout.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

/// Seconds in which a waiting host only yields. Most conditions become true within this time. A longer sequence of
/// yields would take half of a core from other ranks, which may compute for milliseconds.
constexpr double eager_seconds = 5e-4;

}  // namespace

bool asked_until(const std::function<bool()>& done, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  while (!done()) {
    const double waited = std::chrono::duration<double>(Clock::now() - start).count();
    if (waited > seconds) return false;
    if (waited < eager_seconds) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  return true;
}

std::uint64_t wait_limit_ns(double seconds, const std::string& what) {
  if (!(seconds > 0 && (seconds <= longest_wait || std::isinf(seconds))))
    throw Error(ErrorCode::invalid_argument,
                "the wait_limit of " + what + " is " + std::to_string(seconds) +
                    " s: give more than 0 and at most 1e9 s, or inf to wait for ever",
                {{"option", "wait_limit"}, {"given", seconds}, {"limit", longest_wait}});
  if (std::isinf(seconds)) return std::numeric_limits<std::uint64_t>::max();
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(seconds * 1e9));
}

}  // namespace slipstream

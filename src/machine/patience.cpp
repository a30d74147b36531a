#include "machine/patience.hpp"

#include <chrono>
#include <thread>

namespace slipstream {
namespace {

/// Most answers are there so soon. Yields are counted by time: between two of them others may compute for milliseconds,
/// and who goes on yielding then takes half of their core.
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

}  // namespace slipstream

#include "machine/patience.hpp"

#include <chrono>
#include <thread>

namespace slipstream {

bool asked_until(const std::function<bool()>& done, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int round = 0; !done(); ++round) {
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) return false;
    if (round < 1000) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  return true;
}

}  // namespace slipstream

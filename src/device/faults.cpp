#include "device/faults.hpp"

#include <atomic>
#include <utility>

#include <slipstream/error.hpp>

namespace slipstream::faults {
namespace {

/// For each kind of call that tests can make fail: number of calls before the one that fails; negative: none fails.
std::atomic<int> remaining[static_cast<int>(Step::count)] = {-1, -1, -1};

std::function<void(Stream&)> held_up[static_cast<int>(Lane::count)];

std::atomic<double> teardown_seconds = 0;

std::atomic<int>& of(Step step) { return remaining[static_cast<int>(step)]; }

}  // namespace

void arm(Step step, int passes) { of(step) = passes; }

bool armed(Step step) { return of(step) >= 0; }

void pass(Step step) {
  // Faults are disarmed outside of tests, so this check costs one load.
  if (of(step).load(std::memory_order_relaxed) < 0) return;
  if (of(step).fetch_sub(1) == 0)
    throw OutOfMemory("a test injected this failure", {{"fault", static_cast<int>(step)}});
}

void hold(Lane lane, std::function<void(Stream&)> work) { held_up[static_cast<int>(lane)] = std::move(work); }

bool held(Lane lane) { return static_cast<bool>(held_up[static_cast<int>(lane)]); }

void reach(Lane lane, Stream& stream) {
  if (held(lane)) held_up[static_cast<int>(lane)](stream);
}

void shorten_teardowns(double seconds) { teardown_seconds = seconds; }

double seconds_of_teardowns() { return teardown_seconds; }

}  // namespace slipstream::faults

#include <csignal>

#include <array>
#include <atomic>
#include <chrono>

#include <slipstream/checkpoint.hpp>
#include <slipstream/error.hpp>

namespace slipstream {
namespace {

/// A handler has nothing but global memory to tell what it saw.
std::atomic<int> signal_seen{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may use lock-free atomics only");
std::atomic<bool> in_use{false};

extern "C" void note_signal(int number) { signal_seen.store(number); }

constexpr std::array<int, 2> requests{SIGTERM, SIGUSR1};
constexpr int clock_ran_out = 1 << 16;  // no signal's number

std::string name_of(int why) {
  if (why == SIGTERM) return "SIGTERM";
  if (why == SIGUSR1) return "SIGUSR1";
  return why == clock_ran_out ? "the wall-clock limit" : "signal " + std::to_string(why);
}

}  // namespace

struct StopRequest::Impl {
  using Clock = std::chrono::steady_clock;
  Impl(const Communicator& comm, double limit) : comm(comm), limit(limit), start(Clock::now()) {
    require(limit >= 0, "a wall-clock limit cannot be negative");
    require(!in_use.exchange(true), "there is a StopRequest already: one at a time watches the signals");
    signal_seen = 0;
    for (std::size_t n = 0; n < requests.size(); ++n) {
      struct sigaction action {};
      action.sa_handler = note_signal;
      action.sa_flags = SA_RESTART | (requests[n] == SIGTERM ? SA_RESETHAND : 0);
      sigaction(requests[n], &action, &before[n]);
    }
  }
  ~Impl() {
    for (std::size_t n = 0; n < requests.size(); ++n) sigaction(requests[n], &before[n], nullptr);
    in_use = false;
  }

  std::string reason() const {
    int mine = signal_seen.load();
    if (mine == 0 && limit > 0 && std::chrono::duration<double>(Clock::now() - start).count() >= limit)
      mine = clock_ran_out;
    const int why = static_cast<int>(comm.max(mine));
    return why == 0 ? std::string{} : name_of(why);
  }

  Communicator comm;
  double limit;
  Clock::time_point start;
  std::array<struct sigaction, requests.size()> before{};
};

StopRequest::StopRequest(const Communicator& comm, double wall_clock_limit)
    : impl_(std::make_unique<Impl>(comm, wall_clock_limit)) {}
StopRequest::~StopRequest() = default;
std::string StopRequest::reason() const { return impl_->reason(); }

}  // namespace slipstream

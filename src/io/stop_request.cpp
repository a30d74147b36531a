#include <csignal>

#include <array>
#include <atomic>
#include <chrono>

#include <slipstream/checkpoint.hpp>
#include <slipstream/error.hpp>

namespace slipstream {
namespace {

/// Number of the signal that asked to stop. A signal handler can report only through global memory.
std::atomic<int> signal_seen{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may use lock-free atomics only");
std::atomic<bool> in_use{false};

constexpr std::array<int, 4> requests{SIGTERM, SIGUSR1, SIGINT, SIGHUP};
/// Signal handlers that were installed before. Except for SIGUSR1 the new handler restores them, so that a second
/// signal has its usual effect.
std::array<struct sigaction, requests.size()> before{};

extern "C" void note_signal(int number) {
  int none = 0;
  signal_seen.compare_exchange_strong(none, number);
  for (std::size_t n = 0; n < requests.size(); ++n)
    if (requests[n] == number && number != SIGUSR1) sigaction(number, &before[n], nullptr);
}

constexpr int clock_ran_out = 1 << 16;  // stands for an elapsed time limit; no signal has this number

std::string name_of(int why) {
  if (why == SIGTERM) return "SIGTERM";
  if (why == SIGUSR1) return "SIGUSR1";
  if (why == SIGINT) return "SIGINT";
  if (why == SIGHUP) return "SIGHUP";
  return why == clock_ran_out ? "the wall-clock limit" : "signal " + std::to_string(why);
}

}  // namespace

struct StopRequest::Impl {
  using Clock = std::chrono::steady_clock;
  Impl(const Communicator& comm, double limit) : comm(comm), limit(limit), start(Clock::now()) {
    require(limit >= 0, "a wall-clock limit cannot be negative", {{"option", "limit"}, {"given", limit}});
    require(!in_use.exchange(true), ErrorCode::wrong_state, "only one StopRequest may exist at a time",
            {{"problem", "one_at_a_time"}});
    signal_seen = 0;
    for (std::size_t n = 0; n < requests.size(); ++n) {
      sigaction(requests[n], nullptr, &before[n]);
      // A signal that the parent ignores stays ignored, as for background runs and nohup.
      const bool of_terminal = requests[n] == SIGINT || requests[n] == SIGHUP;
      if (of_terminal && before[n].sa_handler == SIG_IGN) continue;
      struct sigaction action {};
      action.sa_handler = note_signal;
      action.sa_flags = SA_RESTART;
      sigaction(requests[n], &action, nullptr);
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
};

StopRequest::StopRequest(const Communicator& comm, double wall_clock_limit)
    : impl_(std::make_unique<Impl>(comm, wall_clock_limit)) {}
StopRequest::~StopRequest() = default;
std::string StopRequest::reason() const { return impl_->reason(); }

}  // namespace slipstream

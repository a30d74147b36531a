#include "machine/crash_guard.hpp"

#include <csignal>

#include <array>
#include <mutex>

namespace slipstream {
namespace {

/// Jump target; initial-exec, since access to other thread-local variables may allocate, which handlers must not do.
[[gnu::tls_model("initial-exec")]] thread_local sigjmp_buf* way_out = nullptr;

constexpr std::array<int, 2> faults{SIGSEGV, SIGBUS};
/// The signal handlers that were installed before. Written only while no handler of this file is installed.
std::array<struct sigaction, faults.size()> before{};
std::mutex mutex;
int guards = 0;

void hand_on(int number, siginfo_t* info, void* context) {
  const struct sigaction& old = before[number == faults[0] ? 0 : 1];
  if (old.sa_flags & SA_SIGINFO) return old.sa_sigaction(number, info, context);
  if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(number);
  std::signal(number, SIG_DFL);  // restores the default: the fault repeats and ends the program
}

void on_fault(int number, siginfo_t* info, void* context) {
  if (way_out) siglongjmp(*way_out, number);
  hand_on(number, info, context);
}

}  // namespace

CrashGuard::CrashGuard() {
  const std::lock_guard lock(mutex);
  way_out = &place_;
  if (guards++ > 0) return;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (std::size_t n = 0; n < faults.size(); ++n) sigaction(faults[n], &action, &before[n]);
}

CrashGuard::~CrashGuard() {
  const std::lock_guard lock(mutex);
  way_out = nullptr;
  if (--guards > 0) return;
  for (std::size_t n = 0; n < faults.size(); ++n) {
    struct sigaction now {};
    sigaction(faults[n], nullptr, &now);
    // Signal handlers that others installed meanwhile are kept.
    if (now.sa_sigaction == on_fault) sigaction(faults[n], &before[n], nullptr);
  }
}

}  // namespace slipstream

#include "machine/deadline.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

namespace slipstream {

Deadline::Deadline(const Communicator& comm, double seconds, std::string what)
    : comm_(comm), thread_([this, seconds, what = std::move(what)] { watch(seconds, what); }) {}

Deadline::~Deadline() {
  {
    const std::lock_guard lock(mutex_);
    met_ = true;
  }
  over_.notify_one();
  thread_.join();
}

void Deadline::watch(double seconds, const std::string& what) {
  std::unique_lock lock(mutex_);
  if (std::isinf(seconds)) return over_.wait(lock, [this] { return met_; });
  if (over_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return met_; })) return;
  std::fprintf(stderr, "rank %d: %s took longer than %g s and cannot be cancelled: the job ends\n", comm_.rank(),
               what.c_str(), seconds);
  std::fflush(stderr);
  comm_.abort(1);
}

}  // namespace slipstream

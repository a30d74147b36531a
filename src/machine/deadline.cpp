#include "machine/deadline.hpp"

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <utility>

namespace slipstream {

Deadline::Deadline(const Communicator& comm, double seconds, std::string what)
    : comm_(comm), thread_([this, seconds, what = std::move(what)](const std::stop_token& met) {
        std::mutex mutex;
        std::condition_variable_any over;
        std::unique_lock lock(mutex);
        const auto never = [] { return false; };
        if (std::isinf(seconds)) {
          over.wait(lock, met, never);
        } else {
          over.wait_for(lock, met, std::chrono::duration<double>(seconds), never);
        }
        if (met.stop_requested()) return;
        std::fprintf(stderr, "rank %d: %s took longer than %g s and cannot be cancelled: the job ends\n", comm_.rank(),
                     what.c_str(), seconds);
        std::fflush(stderr);
        comm_.abort(1);
      }) {}

}  // namespace slipstream

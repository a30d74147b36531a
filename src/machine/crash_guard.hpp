#pragma once
#include <csetjmp>

namespace slipstream {

/// Guards calls that may crash. During its lifetime, an invalid memory access by this thread jumps to place(). The
/// owner must have called sigsetjmp(guard.place(), 1) in a frame that still exists. Faults of other threads go to the
/// previous handlers.
class CrashGuard {
 public:
  CrashGuard();
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

  sigjmp_buf& place() { return place_; }

 private:
  sigjmp_buf place_;
};

}  // namespace slipstream

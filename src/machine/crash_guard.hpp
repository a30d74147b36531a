#pragma once
#include <csetjmp>

namespace slipstream {

/// While it lives, an access of this thread to an invalid address jumps to place(), where the owner must have called
/// sigsetjmp(guard.place(), 1) in a frame that still lives. Faults of other threads go to the handlers of before.
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

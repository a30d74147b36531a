#pragma once

namespace slipstream::host {

/// Leaves out the n-th wait of a stream for an event from here on, counted from 1; 0 leaves out none. It restarts the
/// count. Waits that are recorded count when they are replayed. Only in the tsan preset: a test removes dependencies
/// with it, to see that each is missed.
void omit_wait(int n);
/// Waits of streams for events since omit_wait was called last.
int waits_counted();

/// Counts a wait; true where it is the one to leave out.
#if defined(SLIPSTREAM_KERNELS_ON_WORKER)
bool left_out();
#else
constexpr bool left_out() { return false; }
#endif

}  // namespace slipstream::host

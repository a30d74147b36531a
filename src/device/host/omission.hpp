#pragma once

namespace slipstream::host {

/// Omits the n-th wait of a stream for an event, counted from this call, starting at 1; 0 omits none. Recorded waits
/// count when they are replayed. The tsan preset alone has this: a test removes each dependency in turn and checks that
/// the race is found.
void omit_wait(int n);
/// Number of waits of streams for events since a test last called omit_wait(n), which leaves out the n-th of them.
int waits_counted();

/// Counts a wait of a stream for an event; returns true if the wait must be omitted.
#if defined(SLIPSTREAM_KERNELS_ON_WORKER)
bool left_out();
#else
constexpr bool left_out() { return false; }
#endif

}  // namespace slipstream::host

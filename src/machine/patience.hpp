#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace slipstream {

/// Asks until the answer is true, then true; false after so many seconds. For what the host must wait for beside other
/// ranks, which may share its cores: between two questions it gives them away, soon for longer.
bool asked_until(const std::function<bool()>& done, double seconds);

/// The largest finite limit of a wait, in seconds: 31 years, which both clocks can count in nanoseconds.
inline constexpr double longest_wait = 1e9;

/// A user's limit of waits in nanoseconds, at least 1; UINT64_MAX for an infinite one, which no wait exceeds. Throws
/// Error unless seconds is in (0, longest_wait] or infinite. `what`: "an exchange".
std::uint64_t wait_limit_ns(double seconds, const std::string& what);

}  // namespace slipstream

#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace slipstream {

/// Polls until `done` returns true, then returns true; false after a timeout of `seconds`. Other ranks may share the
/// host's cores: between polls it yields, and later sleeps.
bool asked_until(const std::function<bool()>& done, double seconds);

/// The largest finite timeout, in seconds: 31 years, which host and device clocks can count in nanoseconds.
inline constexpr double longest_wait = 1e9;

/// Converts a timeout from seconds to nanoseconds, at least 1; UINT64_MAX for an infinite one, which no wait exceeds.
/// Throws Error unless seconds is in (0, longest_wait] or infinite. `what` names the waiting object: "an exchange".
std::uint64_t wait_limit_ns(double seconds, const std::string& what);

}  // namespace slipstream

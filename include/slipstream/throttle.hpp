#pragma once
#include <string>

namespace slipstream {

/// Simulates a slow network on one host, for planning and for tests. A message of n bytes arrives at the earliest
/// `latency_us` + n / `gb_per_s` after its exchange began at the sender. Messages of one pair of devices follow one
/// another; those of other pairs are concurrent. Only for routes whose messages the host sends (staged, gpu_mpi); other
/// routes refuse it.
struct Throttle {
  double gb_per_s = 0;  ///< rate of the link in GB/s; 0: no throttle
  double latency_us = 0;
  bool slows() const { return gb_per_s > 0; }
  double seconds(double bytes) const { return latency_us * 1e-6 + bytes / (gb_per_s * 1e9); }
  bool operator==(const Throttle&) const = default;
};

/// Bounds of the rate (GB/s) and latency (us) of a simulated network, whose messages the host delays by polling.
constexpr double least_throttled_gb_per_s = 1e-6, most_throttled_gb_per_s = 1000, most_throttled_us = 1e7;

/// Text of a throttle: "12.5 GB/s, 2 us", "12.5 GB/s", or "none". Reading throws Error for other texts, and for rates
/// and latencies out of bounds.
std::string to_string(const Throttle& throttle);
Throttle throttle_from_string(const std::string& text);
/// Throws Error where a rate or latency is out of bounds.
void check(const Throttle& throttle);

}  // namespace slipstream

#pragma once
// The convergence test of measure_rates, separate because it needs no device.
#include <cstddef>
#include <functional>

namespace slipstream {

/// Rates in GB/s of two concurrent copies in opposite directions.
struct BothWays {
  double there = 0, back = 0;
  bool last = false;  ///< whether to stop after this size of copies, whatever the rates
};

/// Rates of copies in both directions. Their size doubles from `first` bytes until both rates change by less than 2 %.
/// The start-up cost of a copy is then negligible. Stops at `most` bytes.
BothWays settled_rates(std::size_t first, std::size_t most, const std::function<BothWays(std::size_t bytes)>& measure);

}  // namespace slipstream

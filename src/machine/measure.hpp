#pragma once
// When a measured rate counts: the part of measure_rates that needs no device.
#include <cstddef>
#include <functional>

namespace slipstream {

/// GB/s of two copies at once, in opposite directions.
struct BothWays {
  double there = 0, back = 0;
  bool last = false;  ///< no larger copies, whatever the rates
};

/// Rates of copies that grow twofold from `first` bytes until neither way's rate changes by 2 %: what a copy costs
/// before its first byte moves is then drowned. Not beyond `most` bytes.
BothWays settled_rates(std::size_t first, std::size_t most, const std::function<BothWays(std::size_t bytes)>& measure);

}  // namespace slipstream

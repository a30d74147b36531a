#include "grid/largest_extent.hpp"

#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>

namespace slipstream {

/// Finds the size by interpolation, because a plan for thousands of devices is slow. It assumes that memory grows
/// linearly with cells. Every third step bisects the interval.
Extent largest_extent(const Machine& machine, Extent shape,
                      const std::function<double(const Extent&)>& memory_share_of) {
  const std::int64_t longest = *std::max_element(shape.begin(), shape.end());
  const auto scaled = [&](std::int64_t n) {
    Extent e;
    for (int a = 0; a < 3; ++a)
      e[a] = shape[a] == 1 ? 1 : std::max<std::int64_t>(1, std::llround(static_cast<double>(shape[a]) * n / longest));
    return e;
  };
  double memory = 0;
  for (int d = 0; d < machine.devices(); ++d) memory += static_cast<double>(machine.device(d).memory);
  const auto full_at = [&](std::int64_t n) {
    const Extent cells = scaled(n);
    // A cell takes more than one byte. Much larger sizes would overflow the byte counts.
    if (static_cast<double>(cells[0]) * static_cast<double>(cells[1]) * static_cast<double>(cells[2]) > memory)
      return 2.0;
    try {
      return memory_share_of(cells);
    } catch (const Error&) {
      return n < longest ? 0.0 : 2.0;  // the grid has fewer cells than devices, which does not mean that memory is full
    }
  };
  const double power =
      1.0 / static_cast<double>(std::count_if(shape.begin(), shape.end(), [](auto n) { return n > 1; }));
  std::int64_t low = 0, high = std::int64_t{1} << 20, next = longest;
  for (int step = 1; high - low > 1; ++step) {
    const double share = full_at(next);
    (share <= 1 ? low : high) = next;
    const double guess = share > 0 ? static_cast<double>(next) / std::pow(share, power) : 0;
    // After an interpolation the next guess is one larger, so that the interval shrinks from both sides.
    next = step % 3 == 0 || guess == 0 ? (low + high) / 2 : static_cast<std::int64_t>(guess) + (share <= 1 ? 1 : 0);
    next = std::clamp(next, low + 1, std::max(low + 1, high - 1));
  }
  return low == 0 ? Extent{0, 0, 0} : scaled(low);
}

}  // namespace slipstream

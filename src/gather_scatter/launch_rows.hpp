#pragma once
// What kernels over rows share: a thread a row.
#include <cstdint>

#include <slipstream/launch.hpp>

namespace slipstream {

/// Indices of a launch are int: rows lie along x and y.
constexpr int row_bits = 20;
SLIP_FN std::int64_t row_of(int i, int j) { return i + (std::int64_t{j} << row_bits); }

/// Where a number would be put among so many ascending ones, before those that are equal.
template <class Number, class Sought>
SLIP_FN std::int64_t place_among(const Number* numbers, std::int64_t count, Sought sought) {
  std::int64_t low = 0, high = count;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (static_cast<Sought>(numbers[middle]) < sought) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Calls the kernel for all rows, as kernel(i, j, 0) of row_of(i, j).
template <class Kernel>
void launch_rows(Stream& stream, std::int64_t rows, const Kernel& kernel) {
  constexpr std::int64_t width = std::int64_t{1} << row_bits;
  const std::int64_t whole = rows / width;
  launch(stream, Box{{0, 0, 0}, {width, whole, 1}}, kernel);
  launch(stream, Box{{0, whole, 0}, {rows % width, whole + 1, 1}}, kernel);
}

}  // namespace slipstream

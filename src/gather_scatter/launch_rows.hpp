#pragma once
// Launches kernels with one thread for each row of a list; a row has the points of one id in a gather-scatter.
#include <cstdint>

#include <slipstream/launch.hpp>

namespace slipstream {

/// Number of bits of a row number, in lists of points, that launch index x holds; y holds the others, as both are int.
constexpr int row_bits = 20;
SLIP_FN std::int64_t row_of(int i, int j) { return i + (std::int64_t{j} << row_bits); }

/// Lower bound: the first index i with numbers[i] >= sought, or `count`.
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

/// Launches kernel(i, j, 0) for all rows; row_of(i, j) is the number of the row.
template <class Kernel>
void launch_rows(Stream& stream, std::int64_t rows, const Kernel& kernel) {
  constexpr std::int64_t width = std::int64_t{1} << row_bits;
  const std::int64_t whole = rows / width;
  launch(stream, Box{{0, 0, 0}, {width, whole, 1}}, kernel);
  launch(stream, Box{{0, whole, 0}, {rows % width, whole + 1, 1}}, kernel);
}

}  // namespace slipstream

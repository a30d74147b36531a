#pragma once
// Pointwise launches for any number of points, although the cell indices of a launch are int.
#include <cstdint>

#include <slipstream/launch.hpp>

namespace slipstream {

template <class Point>
struct EachPoint {
  static constexpr std::int64_t row = 256;
  Point point;
  std::int64_t points;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t p = j * row + i;
    if (p < points) point(p);
  }
};

/// Calls point(p) for each p below `points`, in any order.
template <class Point>
void by_points(Stream& stream, std::int64_t points, const Point& point) {
  constexpr std::int64_t row = EachPoint<Point>::row;
  launch(stream, Box{{0, 0, 0}, {row, (points + row - 1) / row, 1}}, EachPoint<Point>{point, points});
}

}  // namespace slipstream

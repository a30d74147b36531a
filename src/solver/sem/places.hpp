#pragma once
// Coordinates of all points of elements, from tables per axis.
#include <array>
#include <string>
#include <vector>

#include <slipstream/sem.hpp>

namespace slipstream::sem {

/// Coordinates as text, for errors.
std::string text(const Point& place);

/// Indices of faces on a side across `axis`. The first is the element's; the others are those of its neighbours at
/// distance toward_a and toward_b (-1, 0 or 1) along the two other axes, the lower axis first.
std::vector<std::int64_t> faces_around(const ElementBox& box, const std::array<std::int64_t, 3>& element,
                                       std::size_t axis, int toward_a, int toward_b);

/// Relative positions of points along an axis of the box, 0 to 1, before bending.
std::vector<double> shares_along(const ElementBox& box, std::size_t axis, const Rule& rule);

/// Computes the same coordinates as ElementBox::place for points of a rule. The rule begins at -1 and ends at 1.
class BoxPlaces {
 public:
  BoxPlaces(const ElementBox& box, std::vector<double> points);
  /// Computes coordinates of all points of each of `count` elements, r fastest. Threads share the work, but a
  /// user-defined map of the domain (ElementBox::map) is called by one thread.
  void of(std::int64_t first, std::size_t count, Point* x) const;

 private:
  struct Share {
    double y, sine;
  };
  /// Coordinates of an element before the box's own map is applied, at all points or at the eight corners.
  void before_map(std::int64_t element, bool corners, Point* x) const;
  ElementBox box_;
  std::vector<double> points_;
  std::array<std::vector<Share>, 3> shares_;  ///< points' positions in the box, 0 to 1, [axis][element][point]
};

}  // namespace slipstream::sem

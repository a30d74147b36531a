#pragma once
// Places of all points of elements, from what each axis has once.
#include <array>
#include <string>
#include <vector>

#include <slipstream/sem.hpp>

namespace slipstream::sem {

/// As errors say it.
std::string text(const Point& place);

/// Numbers of faces on a side across an axis: that of an element there, then its neighbours `toward` (-1, 0 or 1 along
/// the two other axes, the lower first).
std::vector<std::int64_t> faces_around(const ElementBox& box, const std::array<std::int64_t, 3>& element,
                                       std::size_t axis, int toward_a, int toward_b);

/// How far along an axis of the box its points lie, from 0 to 1, before they are bent.
std::vector<double> shares_along(const ElementBox& box, std::size_t axis, const Rule& rule);

/// ElementBox::place for the points of a rule, bit for bit. The rule begins at -1 and ends at 1.
class BoxPlaces {
 public:
  BoxPlaces(const ElementBox& box, std::vector<double> points);
  /// Fills points^3 places of each of `count` elements, r fastest. Threads share them, but for a box's own map.
  void of(std::int64_t first, std::size_t count, Point* x) const;

 private:
  struct Share {
    double y, sine;
  };
  /// The places of an element before the box's own map, at all points or at the eight corners.
  void before_map(std::int64_t element, bool corners, Point* x) const;
  ElementBox box_;
  std::vector<double> points_;
  std::array<std::vector<Share>, 3> shares_;  ///< [element along the axis][point]
};

}  // namespace slipstream::sem

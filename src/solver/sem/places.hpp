#pragma once
// Places of all points of elements, from what each axis has once.
#include <array>
#include <vector>

#include <slipstream/sem.hpp>

namespace slipstream::sem {

/// ElementBox::place for the points of a rule, bit for bit. The rule begins at -1 and ends at 1.
class BoxPlaces {
 public:
  BoxPlaces(const ElementBox& box, std::vector<double> points);
  /// Fills points^3 places, r fastest.
  void of(std::int64_t element, Point* x) const;

 private:
  struct Share {
    double y, sine;
  };
  ElementBox box_;
  std::vector<double> points_;
  std::array<std::vector<Share>, 3> shares_;  ///< [element along the axis][point]
};

}  // namespace slipstream::sem

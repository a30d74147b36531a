#pragma once
// Values of Dirichlet sides, extended into the box.
#include <string>
#include <vector>

#include "solver/sem/patches.hpp"

namespace slipstream::sem {

/// Every rank has the values of all points on Dirichlet faces; each device makes of them what its points have. Where a
/// side is Dirichlet's in part, the rest of it counts as given, too, with the value halfway between the least and the
/// largest.
class Lifting {
 public:
  /// `faces`: where the patches give values.
  Lifting(Space& space, const Patches& patches, const DirichletFaces& faces);
  /// Given values at this rank's points, zero at those of others. Throws what the functions throw.
  std::vector<double> mine(double time) const;
  /// Takes the values of all ranks, and leaves in `out` what they make of the box. Collective.
  void take(std::vector<double> mine, Vector& out);
  /// Halfway between the least and the largest of the values that were taken last.
  double middle() const { return middle_; }
  double largest() const { return largest_; }  ///< the greatest magnitude
  /// Where two sides differed first on an edge that they share; empty where none did.
  const std::string& caution() const { return caution_; }

 private:
  using Place = std::array<std::int64_t, 3>;  ///< number of a point along each axis, through the elements
  /// Points of a patch on this rank, each once in all ranks.
  struct Values {
    Given given;
    std::vector<bool> faces;
    std::vector<std::int64_t> at;
    std::vector<Point> places;
  };
  struct Side {
    std::size_t axis, end;
    std::int64_t begin;
    std::vector<Values> patches;
  };
  /// Where a place of a side lies among the values.
  std::int64_t at(const Side& side, const Place& place) const;
  double& value(const Side& side, const Place& place);
  void list_points(Side& side, const std::vector<bool>& given);
  void close_periodic_axes();
  void settle_edges();
  void set_the_rest();
  void tell(const Side& side, const Side& later, const Place& place, double one, double two);
  Point place_of(const Place& place) const;

  Space& space_;
  std::vector<Side> sides_;
  Place wide_{};  ///< points along each axis, both ends counted
  std::vector<double> values_;
  std::vector<bool> given_, known_;  ///< of the values: those that are given; and those on edges of such sides
  double middle_ = 0, largest_ = 0;
  std::string caution_;
  struct Part {
    Buffer<double> values, shares;
  };
  std::vector<Part> parts_;
};

}  // namespace slipstream::sem

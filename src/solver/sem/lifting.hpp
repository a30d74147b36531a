#pragma once
// Extends values on Dirichlet sides into the box.
#include <string>
#include <vector>

#include "solver/sem/patches.hpp"

namespace slipstream::sem {

/// Extension of given values. Each rank holds those of all points on Dirichlet faces; each device extends them to its
/// own points. If a side is only partly Dirichlet, its rest gets the mean of the least and the largest value.
class Lifting {
 public:
  /// Prepares the extension of boundary values into the box. `faces`: element faces with given Dirichlet values.
  Lifting(Space& space, const Patches& patches, const DirichletFaces& faces);
  /// Evaluates the given values at Dirichlet points: zero at points of other ranks. Throws what the functions throw.
  std::vector<double> mine(double time) const;
  /// Sums the Dirichlet values of all ranks, and extends them from the sides to all points of `out`. Collective.
  void take(std::vector<double> mine, Vector& out);
  /// Mean of the least and the largest Dirichlet boundary value, from the last call of take().
  double middle() const { return middle_; }
  double largest() const { return largest_; }  ///< largest magnitude of the given values
  /// Warning about the first edge on which the values of two sides differ; empty if there is none.
  const std::string& caution() const { return caution_; }

 private:
  using Place = std::array<std::int64_t, 3>;  ///< global index of a point along each axis
  /// Points of a patch of faces on this rank; each point belongs to one rank.
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
  /// Index of a point of a side in the array of values given on sides.
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
  Place wide_{};  ///< number of points along each axis of the box of elements, both ends counted
  std::vector<double> values_;
  /// for each point of sides: whether it has a Dirichlet value; whether a value is known, here or at a shared edge
  std::vector<bool> given_, known_;
  double middle_ = 0, largest_ = 0;
  std::string caution_;
  struct Part {
    Buffer<double> values, shares;
  };
  std::vector<Part> parts_;
};

}  // namespace slipstream::sem

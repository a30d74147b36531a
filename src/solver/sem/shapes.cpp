// Checks elements: the determinants of their Jacobians must be positive everywhere.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <slipstream/error.hpp>

#include "device/in_parallel.hpp"
#include "solver/sem/jacobians.hpp"
#include "solver/sem/places.hpp"
#include "solver/sem/rule.hpp"

namespace slipstream::sem {
namespace {

/// Fractions of an element's mean determinant and of its cubed extent, below which a determinant counts as zero.
constexpr double least_of_mean = 1e-10, least_of_cube = 1e-14;
/// If an element's least Jacobian determinant at points is below this share of the mean, a search looks for lower ones.
constexpr double suspicious = 0.25;

/// The shape of an element: polynomials through its points' coordinates.
class Shape {
 public:
  Shape(const ElementBox& box, const Rule& rule, std::int64_t element)
      : box_(box), rule_(rule), n_(rule.points.size()), element_(element) {}

  void check(const Point* x, Jacobians& jacobians) {
    x_ = x;
    jacobians.of(x);
    std::vector<double> all;
    mean_ = 0;
    for (std::size_t p = 0; p < n_ * n_ * n_; ++p) {
      all.push_back(determinant(jacobians.at(p)));
      mean_ += 0.125 * rule_.weights[p % n_] * rule_.weights[p / n_ % n_] * rule_.weights[p / (n_ * n_)] * all.back();
    }
    limit_ = std::max(least_of_mean * std::abs(mean_), least_of_cube * cube_of_extent());
    for (std::size_t p = 0; p < all.size(); ++p)
      if (!(all[p] > limit_)) refuse(x[p], all[p]);
    const auto lowest = std::min_element(all.begin(), all.end());
    if (*lowest < suspicious * mean_) search(static_cast<std::size_t>(lowest - all.begin()), *lowest);
  }

 private:
  double cube_of_extent() const {
    double extent = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      double least = x_[0][d], most = least;
      for (std::size_t p = 0; p < n_ * n_ * n_; ++p) {
        least = std::min(least, x_[p][d]);
        most = std::max(most, x_[p][d]);
      }
      extent = std::max(extent, most - least);
    }
    return extent * extent * extent;
  }

  struct Here {
    Point place{};
    double determinant = 0;
  };
  /// Coordinates and Jacobian determinant at r, by a sum over all points.
  Here at(const Point& r) const {
    std::vector<double> value[3], slope[3];
    for (std::size_t d = 0; d < 3; ++d) {
      value[d] = interpolation(rule_, {&r[d], 1});
      slope[d].assign(n_, 0.0);
      for (std::size_t l = 0; l < n_; ++l)
        for (std::size_t m = 0; m < n_; ++m) slope[d][m] += value[d][l] * rule_.derivative[l * n_ + m];
    }
    Here here;
    Matrix jacobian{};
    for (std::size_t p = 0; p < n_ * n_ * n_; ++p) {
      const std::size_t i = p % n_, j = p / n_ % n_, k = p / (n_ * n_);
      const double a = value[0][i], b = value[1][j], c = value[2][k];
      const double weights[3] = {slope[0][i] * b * c, a * slope[1][j] * c, a * b * slope[2][k]};
      for (std::size_t d = 0; d < 3; ++d) {
        here.place[d] += a * b * c * x_[p][d];
        for (std::size_t e = 0; e < 3; ++e) jacobian[e][d] += weights[e] * x_[p][d];
      }
    }
    here.determinant = determinant(jacobian);
    return here;
  }

  /// Searches the smallest determinant by pattern search (Hooke & Jeeves 1961): moves to the least of 27 positions
  /// around a point, with smaller steps if none is lower.
  void search(std::size_t point, double lowest) const {
    Point r{rule_.points[point % n_], rule_.points[point / n_ % n_], rule_.points[point / (n_ * n_)]};
    for (double step = 1 / static_cast<double>(n_); step > 1e-6;) {
      Point best = r;
      for (int way = 0; way < 27; ++way) {
        Point there{};
        for (std::size_t d = 0, rest = static_cast<std::size_t>(way); d < 3; ++d, rest /= 3)
          there[d] = std::clamp(r[d] + step * (static_cast<double>(rest % 3) - 1), -1.0, 1.0);
        const Here here = at(there);
        if (!(here.determinant > limit_)) refuse(here.place, here.determinant);
        if (here.determinant >= lowest - 1e-3 * limit_) continue;  // not clearly below the lowest Jacobian found so far
        lowest = here.determinant;
        best = there;
      }
      if (best == r) step *= 0.5;
      r = best;
    }
  }

  [[noreturn]] void refuse(const Point& place, double found) const {
    char said[96];
    std::snprintf(said, sizeof said, ": the determinant of its Jacobian is %.3g, and %.3g in the mean", found, mean_);
    const char* const deformed = "; deform it less or take more elements";
    const bool folds = found < -limit_;
    throw Error(ErrorCode::invalid_argument,
                "element " + std::to_string(element_) + (folds ? " is turned inside out at " : " has no volume at ") +
                    text(place) + said +
                    (!box_.map ? deformed
                     : folds   ? "; the map folds or mirrors there"
                               : "; the map draws a face, an edge or a corner together there, which it must not"),
                {{"element", element_},
                 {"place", text(place)},
                 {"problem", folds ? "inside_out" : "no_volume"},
                 {"jacobian", found}});
  }

  const ElementBox& box_;
  const Rule& rule_;
  std::size_t n_;
  std::int64_t element_;
  const Point* x_ = nullptr;
  double mean_ = 0, limit_ = 0;
};

/// Coordinates at the points of a finer rule, from the polynomials through an element's own points.
std::vector<Point> at_finer(const std::vector<double>& e, std::size_t n, std::size_t m, const Point* own) {
  std::vector<Point> from(own, own + n * n * n);
  // Interpolates along r, s and t in turn; each interpolated axis becomes the slowest one.
  for (int axis = 0; axis < 3; ++axis) {
    const std::size_t lines = from.size() / n;
    std::vector<Point> to(lines * m, Point{});
    for (std::size_t line = 0; line < lines; ++line)
      for (std::size_t f = 0; f < m; ++f)
        for (std::size_t l = 0; l < n; ++l)
          for (std::size_t d = 0; d < 3; ++d) to[f * lines + line][d] += e[f * n + l] * from[line * n + l][d];
    from = std::move(to);
  }
  return from;
}

}  // namespace

void check_shapes(const ElementBox& box, const Rule& rule, std::int64_t first, std::size_t count, const Point* own) {
  if (!box.map && box.deform == 0) return;
  // The finer rule has an odd number of points, which includes the midpoint, where odd maps may degenerate.
  const int order = std::max(6, (rule.order + 2) / 2 * 2);
  constexpr std::size_t together = 128;
  const Rule finer = lobatto_of_any_order(order);
  const std::size_t n = rule.points.size(), m = finer.points.size(), cube = m * m * m;
  const std::vector<double> to_finer = interpolation(rule, finer.points);
  const BoxPlaces places(box, finer.points);
  for (std::size_t done = 0; done < count; done += together) {
    const std::size_t here = std::min(together, count - done);
    const std::int64_t from = first + static_cast<std::int64_t>(done);
    std::vector<Point> x(here * cube);
    places.of(from, here, x.data());
    in_parallel(threads_for(here * cube), here, [&](std::size_t, std::size_t begin, std::size_t behind) {
      Jacobians jacobians(finer);
      for (std::size_t e = begin; e < behind; ++e) {
        Shape shape(box, finer, from + static_cast<std::int64_t>(e));
        shape.check(x.data() + e * cube, jacobians);
        shape.check(at_finer(to_finer, n, m, own + (done + e) * n * n * n).data(), jacobians);
      }
    });
  }
}

}  // namespace slipstream::sem

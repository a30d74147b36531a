// Metric terms of elements at their GLL points.
#include <algorithm>
#include <array>
#include <cmath>

#include <slipstream/error.hpp>
#include <slipstream/sem.hpp>

#include "device/in_parallel.hpp"
#include "solver/sem/jacobians.hpp"
#include "solver/sem/places.hpp"

namespace slipstream::sem {
namespace {

/// Jacobian matrix: row a, column d has the derivative of x_d along a = r, s or t.
Matrix jacobian(const Rule& rule, const Point* x, std::size_t i, std::size_t j, std::size_t k) {
  const std::size_t n = rule.points.size();
  Matrix m{};
  for (std::size_t l = 0; l < n; ++l)
    for (std::size_t d = 0; d < 3; ++d) {
      m[0][d] += rule.derivative[i * n + l] * x[l + n * (j + n * k)][d];
      m[1][d] += rule.derivative[j * n + l] * x[i + n * (l + n * k)][d];
      m[2][d] += rule.derivative[k * n + l] * x[i + n * (j + n * l)][d];
    }
  return m;
}

/// Determinant of a Jacobian, and the gradients of r, s and t, which are the columns of its inverse.
struct Metric {
  double determinant = 0;
  Matrix gradients{};
  explicit Metric(const Matrix& m) {
    gradients = {cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])};
    determinant = dot(m[0], gradients[0]);
    for (Point& g : gradients)
      for (double& value : g) value /= determinant;
  }
};

/// Products |J| grad a . grad b, in the order rr rs rt ss st tt.
std::array<double, 6> products(const Metric& metric) {
  std::array<double, 6> g{};
  std::size_t at = 0;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = a; b < 3; ++b) g[at++] = metric.determinant * dot(metric.gradients[a], metric.gradients[b]);
  return g;
}

void check_affine(const Matrix& first, const Matrix& here, std::int64_t element, const Point& place) {
  double difference = 0, size = 0;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t d = 0; d < 3; ++d) {
      difference = std::max(difference, std::abs(here[a][d] - first[a][d]));
      size = std::max(size, std::abs(first[a][d]));
    }
  if (difference > 1e-10 * size)
    throw Error(ErrorCode::unsupported,
                "element " + std::to_string(element) + " is no parallelepiped: its shape at " + text(place) +
                    " is not that of its corner; take stored factors",
                {{"element", element}, {"place", text(place)}, {"problem", "affine"}});
}

/// Coordinates of the corners of an element, [x y z][corner], r fastest.
std::array<double, 24> corners_of(const Point* x, std::size_t n) {
  std::array<double, 24> corners{};
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t c = 0; c < 8; ++c) {
      const std::size_t i = c % 2 * (n - 1), j = c / 2 % 2 * (n - 1), k = c / 4 * (n - 1);
      corners[8 * d + c] = x[i + n * (j + n * k)][d];
    }
  return corners;
}

void check_trilinear(const std::array<double, 24>& corners, const Rule& rule, const Point* x, std::int64_t element) {
  const std::size_t n = rule.points.size();
  double size = 0, off = 0;
  for (const double value : corners) size = std::max(size, std::abs(value - corners[0]));
  for (std::size_t p = 0; p < n * n * n && off <= 1e-10 * size; ++p) {
    const double r[3] = {rule.points[p % n], rule.points[p / n % n], rule.points[p / n / n]};
    for (std::size_t d = 0; d < 3; ++d) {
      double there = 0;
      for (std::size_t c = 0; c < 8; ++c)
        there += 0.125 * (1 + (c % 2 ? r[0] : -r[0])) * (1 + (c / 2 % 2 ? r[1] : -r[1])) *
                 (1 + (c / 4 ? r[2] : -r[2])) * corners[8 * d + c];
      off = std::max(off, std::abs(there - x[p][d]));
    }
    if (off > 1e-10 * size)
      throw Error(ErrorCode::unsupported,
                  "element " + std::to_string(element) + " has no straight edges: at " + text(x[p]) +
                      " it is not what its corners make of it; take stored factors, or a straight box",
                  {{"element", element}, {"place", text(x[p])}, {"problem", "trilinear"}});
  }
}

}  // namespace

Geometry geometry(const ElementBox& box, const Rule& rule, std::int64_t first, std::int64_t last, Factors factors,
                  bool with_metric) {
  const std::size_t n = rule.points.size(), points = n * n * n, count = static_cast<std::size_t>(last - first);
  const bool affine = factors == Factors::affine, stored = factors == Factors::stored;
  Geometry g{factors, {}, {}, {}, {}};
  g.places.resize(count * points);
  g.mass.resize(count * points);
  g.stiffness.resize(count * (stored ? 6 * points : affine ? 6 : 24));
  if (with_metric) g.metric.resize(count * 9 * points);
  const BoxPlaces places(box, rule.points);
  places.of(first, count, g.places.data());
  check_shapes(box, rule, first, count, g.places.data());
  const auto element = [&](std::size_t e, Jacobians& jacobians) {
    const std::int64_t number = first + static_cast<std::int64_t>(e);
    const Point* x = g.places.data() + e * points;
    if (factors == Factors::trilinear) {
      const std::array<double, 24> corners = corners_of(x, n);
      check_trilinear(corners, rule, x, number);
      std::copy(corners.begin(), corners.end(), g.stiffness.data() + e * 24);
    }
    jacobians.of(x);
    const Matrix corner = jacobians.at(0);
    for (std::size_t p = 0; p < points; ++p) {
      const Matrix here = jacobians.at(p);
      const Metric metric(affine ? corner : here);
      if (affine) check_affine(corner, here, number, x[p]);
      const double w = rule.weights[p % n] * rule.weights[p / n % n] * rule.weights[p / (n * n)];
      g.mass[e * points + p] = w * metric.determinant;
      if (stored || (affine && p == 0)) {
        const std::array<double, 6> factor = products(metric);
        for (std::size_t c = 0; c < 6; ++c)
          (stored ? g.stiffness[(e * 6 + c) * points + p] : g.stiffness[e * 6 + c]) =
              stored ? w * factor[c] : factor[c];
      }
      for (std::size_t c = 0; with_metric && c < 9; ++c)
        g.metric[(e * 9 + c) * points + p] = metric.gradients[c / 3][c % 3];
    }
  };
  in_parallel(threads_for(count * points), count, [&](std::size_t, std::size_t begin, std::size_t behind) {
    Jacobians jacobians(rule);
    for (std::size_t e = begin; e < behind; ++e) element(e, jacobians);
  });
  return g;
}

std::vector<Point> side_areas(const ElementBox& box, const Rule& rule, int axis, int end, std::int64_t first,
                              std::int64_t last) {
  const std::size_t n = rule.points.size(), cube = n * n * n, across = static_cast<std::size_t>(axis);
  std::vector<Point> areas;
  std::vector<Point> x(cube);
  const BoxPlaces places(box, rule.points);
  std::int64_t element = -1;
  for (const std::int64_t point : box.points_on(axis, end, first, last, rule.order)) {
    const std::int64_t here = first + point / static_cast<std::int64_t>(cube);
    if (here != element) places.of(here, 1, x.data());
    element = here;
    const std::size_t p = static_cast<std::size_t>(point) % cube;
    const std::array<std::size_t, 3> at{p % n, p / n % n, p / (n * n)};
    const Matrix m = jacobian(rule, x.data(), at[0], at[1], at[2]);
    const std::size_t a = (across + 1) % 3, b = (across + 2) % 3;
    Point area = cross(m[a], m[b]);  // area vector at a point of the side, per area of the reference square
    for (double& part : area) part *= (end == 0 ? -1 : 1) * rule.weights[at[a]] * rule.weights[at[b]];
    areas.push_back(area);
  }
  return areas;
}

std::vector<double> side_weights(const ElementBox& box, const Rule& rule, int axis, int end, std::int64_t first,
                                 std::int64_t last) {
  std::vector<double> weights;
  for (const Point& area : side_areas(box, rule, axis, end, first, last)) weights.push_back(std::sqrt(dot(area, area)));
  return weights;
}

}  // namespace slipstream::sem

// Metric terms of elements at their GLL points.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <slipstream/error.hpp>
#include <slipstream/sem.hpp>

namespace slipstream::sem {
namespace {

std::string text(const Point& p) {
  char line[96];
  std::snprintf(line, sizeof line, "(%.4g, %.4g, %.4g)", p[0], p[1], p[2]);
  return line;
}

using Matrix = std::array<Point, 3>;

/// Row a, column d: derivative of x_d along r, s or t.
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

Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double dot(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Determinant and the gradients of r, s and t, which are the columns of the inverse.
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

/// |J| grad a . grad b: rr rs rt ss st tt.
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
  require(difference <= 1e-10 * size, "element " + std::to_string(element) + " is no parallelepiped: its shape at " +
                                          text(place) + " is not that of its corner; take stored factors");
}

/// [x y z][corner], r fastest.
std::vector<double> corners_of(const Point* x, std::size_t n) {
  std::vector<double> corners;
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t c = 0; c < 8; ++c) {
      const std::size_t i = c % 2 * (n - 1), j = c / 2 % 2 * (n - 1), k = c / 4 * (n - 1);
      corners.push_back(x[i + n * (j + n * k)][d]);
    }
  return corners;
}

void check_trilinear(const std::vector<double>& corners, const Rule& rule, const Point* x, std::int64_t element) {
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
    require(off <= 1e-10 * size, "element " + std::to_string(element) + " has no straight edges: at " + text(x[p]) +
                                     " it is not what its corners make of it; take stored factors, or a straight box");
  }
}

}  // namespace

std::string to_string(Factors factors) {
  return factors == Factors::stored ? "stored" : factors == Factors::affine ? "affine" : "trilinear";
}

Factors factors_from_string(const std::string& name) {
  if (name == "stored") return Factors::stored;
  if (name == "affine") return Factors::affine;
  if (name == "trilinear") return Factors::trilinear;
  throw Error("geometric factors '" + name + "': there are stored, affine and trilinear");
}

Geometry geometry(const ElementBox& box, const Rule& rule, std::int64_t first, std::int64_t last, Factors factors,
                  bool with_metric) {
  const std::size_t n = rule.points.size(), points = n * n * n, count = static_cast<std::size_t>(last - first);
  const bool affine = factors == Factors::affine;
  Geometry g{factors, {}, {}, {}, {}};
  g.places.resize(count * points);
  g.mass.resize(count * points);
  const bool stored = factors == Factors::stored;
  if (factors != Factors::trilinear) g.stiffness.resize(count * 6 * (affine ? 1 : points));
  if (with_metric) g.metric.resize(count * 9 * points);
  for (std::size_t e = 0; e < count; ++e) {
    const std::int64_t element = first + static_cast<std::int64_t>(e);
    Point* x = g.places.data() + e * points;
    for (std::size_t p = 0; p < points; ++p)
      x[p] = box.place(element, {rule.points[p % n], rule.points[p / n % n], rule.points[p / (n * n)]});
    if (factors == Factors::trilinear) {
      const std::vector<double> corners = corners_of(x, n);
      check_trilinear(corners, rule, x, element);
      g.stiffness.insert(g.stiffness.end(), corners.begin(), corners.end());
    }
    const Matrix corner = jacobian(rule, x, 0, 0, 0);
    for (std::size_t p = 0; p < points; ++p) {
      const std::size_t i = p % n, j = p / n % n, k = p / (n * n);
      const Matrix here = jacobian(rule, x, i, j, k);
      const Metric metric(affine ? corner : here);
      require(metric.determinant > 0, "element " + std::to_string(element) + " is turned inside out at " + text(x[p]) +
                                          ": the determinant of its Jacobian is " + std::to_string(metric.determinant) +
                                          "; deform it less or take more elements");
      if (affine) check_affine(corner, here, element, x[p]);
      const double w = rule.weights[i] * rule.weights[j] * rule.weights[k];
      g.mass[e * points + p] = w * metric.determinant;
      const std::array<double, 6> factor = products(metric);
      for (std::size_t c = 0; c < 6; ++c) {
        if (stored) g.stiffness[(e * 6 + c) * points + p] = w * factor[c];
        if (affine) g.stiffness[e * 6 + c] = factor[c];
      }
      for (std::size_t c = 0; with_metric && c < 9; ++c)
        g.metric[(e * 9 + c) * points + p] = metric.gradients[c / 3][c % 3];
    }
  }
  return g;
}

std::vector<double> side_weights(const ElementBox& box, const Rule& rule, int axis, int end, std::int64_t first,
                                 std::int64_t last) {
  const std::size_t n = rule.points.size(), cube = n * n * n, across = static_cast<std::size_t>(axis);
  std::vector<double> weights;
  std::vector<Point> x(cube);
  std::int64_t element = -1;
  for (const std::int64_t point : box.points_on(axis, end, first, last, rule.order)) {
    const std::int64_t here = first + point / static_cast<std::int64_t>(cube);
    for (std::size_t p = 0; here != element && p < cube; ++p)
      x[p] = box.place(here, {rule.points[p % n], rule.points[p / n % n], rule.points[p / (n * n)]});
    element = here;
    const std::size_t p = static_cast<std::size_t>(point) % cube;
    const std::array<std::size_t, 3> at{p % n, p / n % n, p / (n * n)};
    const Matrix m = jacobian(rule, x.data(), at[0], at[1], at[2]);
    const std::size_t a = (across + 1) % 3, b = (across + 2) % 3;
    const Point area = cross(m[a], m[b]);  // J grad c
    weights.push_back(rule.weights[at[a]] * rule.weights[at[b]] * std::sqrt(dot(area, area)));
  }
  return weights;
}

}  // namespace slipstream::sem

#pragma once
// Derivatives of an element's coordinates at its points.
#include <algorithm>
#include <array>
#include <vector>

#include <slipstream/sem.hpp>

namespace slipstream::sem {

/// Jacobian matrix: row a, column d has the derivative of x_d along r, s or t.
using Matrix = std::array<Point, 3>;

/// Jacobians at all points of an element, in the order of the points.
class Jacobians {
 public:
  explicit Jacobians(const Rule& rule)
      : rule_(rule), cube_(rule.points.size() * rule.points.size() * rule.points.size()), x_(3 * cube_), m_(9 * cube_) {
    const std::size_t n = rule.points.size();
    for (std::size_t l = 0; l < n; ++l)
      for (std::size_t i = 0; i < n; ++i) columns_.push_back(rule.derivative[i * n + l]);
  }
  void of(const Point* x) {
    const std::size_t n = rule_.points.size(), plane = n * n;
    std::fill(m_.begin(), m_.end(), 0.0);
    for (std::size_t p = 0; p < cube_; ++p)
      for (std::size_t d = 0; d < 3; ++d) x_[d * cube_ + p] = x[p][d];
    for (std::size_t d = 0; d < 3; ++d) {
      const double* from = x_.data() + d * cube_;
      double *r = m_.data() + d * cube_, *s = r + 3 * cube_, *t = s + 3 * cube_;
      for (std::size_t row = 0; row < cube_; row += n)
        for (std::size_t l = 0; l < n; ++l) add(r + row, columns_.data() + l * n, from[row + l], n);
      for (std::size_t row = 0; row < cube_; row += n)
        for (std::size_t l = 0; l < n; ++l)
          add(s + row, from + row / plane * plane + l * n, rule_.derivative[row / n % n * n + l], n);
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t l = 0; l < n; ++l) add(t + k * plane, from + l * plane, rule_.derivative[k * n + l], plane);
    }
  }
  Matrix at(std::size_t p) const {
    Matrix m;
    for (std::size_t c = 0; c < 9; ++c) m[c / 3][c % 3] = m_[c * cube_ + p];
    return m;
  }

 private:
  static void add(double* to, const double* from, double factor, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
  }
  const Rule& rule_;
  std::size_t cube_;
  std::vector<double> columns_;  ///< derivative matrix D, column by column
  std::vector<double> x_, m_;    ///< coordinates [component][point] and their derivatives [r s t][component][point]
};

inline Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline double dot(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

inline double determinant(const Matrix& m) { return dot(m[0], cross(m[1], m[2])); }

/// Throws Error, with element and place, if the Jacobian determinant of an element's map vanishes or changes its sign.
/// It is also checked between points, and for the box's exact map, which the elements' polynomials may not resolve.
/// `own`: coordinates of the elements' points, the nodes of the quadrature rule `rule`.
void check_shapes(const ElementBox& box, const Rule& rule, std::int64_t first, std::size_t count, const Point* own);

}  // namespace slipstream::sem

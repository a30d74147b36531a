// A box of elements: places, ids and Dirichlet sides of its points.
#include <cmath>
#include <limits>
#include <numbers>

#include <slipstream/error.hpp>
#include <slipstream/sem.hpp>

#include "exchange/in_parallel.hpp"
#include "solver/sem/places.hpp"

namespace slipstream::sem {
namespace {

const char* const axes[] = {"x", "y", "z"};

using Index = std::array<std::int64_t, 3>;

Index index_of(const ElementBox& box, std::int64_t element) {
  const auto& n = box.elements;
  return {element % n[0], element / n[0] % n[1], element / (n[0] * n[1])};
}

/// Where the n-th of `count` intervals begins in [0, 1]; their widths grow geometrically to `stretch` times the first.
double edge(std::int64_t n, std::int64_t count, double stretch) {
  if (stretch == 1 || count == 1) return static_cast<double>(n) / static_cast<double>(count);
  const double growth = std::log(stretch) / static_cast<double>(count - 1);
  return std::expm1(growth * static_cast<double>(n)) / std::expm1(growth * static_cast<double>(count));
}

/// Of element n along an axis, as a share of the box, before it is bent: the place r in [-1, 1].
double along(const ElementBox& box, std::size_t axis, std::int64_t n, double r) {
  const double from = edge(n, box.elements[axis], box.stretch[axis]);
  const double to = edge(n + 1, box.elements[axis], box.stretch[axis]);
  return 0.5 * ((1 - r) * from + (1 + r) * to);
}

double sine(double y) { return std::sin(2 * std::numbers::pi * y); }

/// The place of shares y, of which the sines are known.
Point bent(const ElementBox& box, const Point& y, const Point& sines) {
  double bump = box.deform;
  for (std::size_t d = 0; d < 3; ++d) bump *= sines[d];
  Point x{};
  for (std::size_t d = 0; d < 3; ++d) x[d] = box.lower[d] + (box.upper[d] - box.lower[d]) * (y[d] + bump);
  return x;
}

/// Where r in [-1, 1]^3 lies between eight corners. At them and on sides it is exactly what they have: a weight is 0 or
/// 1 there.
template <class Corner>
Point between(const Corner& corner, const Point& r) {
  Point x{};
  for (int c = 0; c < 8; ++c) {
    const Point at{c & 1 ? 1.0 : -1.0, c & 2 ? 1.0 : -1.0, c & 4 ? 1.0 : -1.0};
    const double weight = 0.125 * (1 + at[0] * r[0]) * (1 + at[1] * r[1]) * (1 + at[2] * r[2]);
    const Point there = corner(c, at);
    for (std::size_t d = 0; d < 3; ++d) x[d] += weight * there[d];
  }
  return x;
}

/// A value a point: f(element's index, its values) changes those that differ. Threads share the elements.
template <class T, class F>
std::vector<T> by_elements(const ElementBox& box, std::int64_t first, std::int64_t last, int order, T otherwise,
                           const F& f) {
  const auto n = static_cast<std::size_t>(order) + 1, cube = n * n * n, count = static_cast<std::size_t>(last - first);
  std::vector<T> values(count * cube, otherwise);
  in_parallel(threads_for(values.size()), count, [&](std::size_t, std::size_t begin, std::size_t behind) {
    for (std::size_t e = begin; e < behind; ++e)
      f(index_of(box, first + static_cast<std::int64_t>(e)), values.data() + e * cube);
  });
  return values;
}

/// Whether an element lies at the low (end = 0) or high side of an axis.
bool touches(const ElementBox& box, const Index& at, std::size_t axis, std::size_t end) {
  return at[axis] == (end == 0 ? 0 : box.elements[axis] - 1);
}

/// Calls f(p) for the points of an element that lie on its low or high face across an axis, in their order.
template <class F>
void on_face(int order, std::size_t axis, std::size_t end, const F& f) {
  const int n = order + 1, plane = end == 0 ? 0 : order;
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      f(static_cast<std::size_t>(axis == 0   ? plane + n * (b + n * a)
                                 : axis == 1 ? b + n * (plane + n * a)
                                             : b + n * (a + n * plane)));
}

}  // namespace

void ElementBox::check() const {
  for (int d = 0; d < 3; ++d) {
    const auto a = static_cast<std::size_t>(d);
    const std::string along = std::string("a box of elements along ") + axes[d] + ": ";
    require(elements[a] >= 1, along + std::to_string(elements[a]) + " elements; there must be one or more");
    require(std::isfinite(upper[a] - lower[a]) && upper[a] > lower[a],
            along + "from " + std::to_string(lower[a]) + " to " + std::to_string(upper[a]) + " is no extent");
    require(std::isfinite(stretch[a]) && stretch[a] > 0,
            along + "a stretch of " + std::to_string(stretch[a]) + "; it is last width over first, above 0");
  }
  require(std::isfinite(deform), "a box of elements: the amplitude of its deformation is not finite");
  // 12 points along each edge of an element at most: (12 ex + 1)(12 ey + 1)(12 ez + 1) ids.
  double ids = 1;
  for (const std::int64_t n : elements) ids *= static_cast<double>(most_order) * static_cast<double>(n) + 1;
  require(ids < 9e18, "a box of elements has more points than 64 bits can number");
}

Point ElementBox::place(std::int64_t element, const Point& r) const {
  const Index at = index_of(*this, element);
  const auto here = [&](const Point& local) {
    Point y{}, sines{};
    for (std::size_t d = 0; d < 3; ++d) {
      y[d] = along(*this, d, at[d], local[d]);
      sines[d] = sine(y[d]);
    }
    return bent(*this, y, sines);
  };
  if (!straight) return here(r);
  return between([&](int, const Point& corner) { return here(corner); }, r);
}

BoxPlaces::BoxPlaces(const ElementBox& box, std::vector<double> points) : box_(box), points_(std::move(points)) {
  for (std::size_t d = 0; d < 3; ++d)
    for (std::int64_t e = 0; e < box.elements[d]; ++e)
      for (const double r : points_) {
        const double y = along(box, d, e, r);
        shares_[d].push_back({y, sine(y)});
      }
}

void BoxPlaces::of(std::int64_t element, Point* x) const {
  const Index at = index_of(box_, element);
  const std::size_t n = points_.size();
  const Share* own[3];
  for (std::size_t d = 0; d < 3; ++d) own[d] = shares_[d].data() + static_cast<std::size_t>(at[d]) * n;
  const auto here = [&](std::size_t i, std::size_t j, std::size_t k) {
    const Share &a = own[0][i], &b = own[1][j], &c = own[2][k];
    return bent(box_, {a.y, b.y, c.y}, {a.sine, b.sine, c.sine});
  };
  Point corners[8];
  for (std::size_t c = 0; box_.straight && c < 8; ++c)
    corners[c] = here(c % 2 * (n - 1), c / 2 % 2 * (n - 1), c / 4 * (n - 1));
  const auto corner = [&](int c, const Point&) { return corners[c]; };
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n; ++i)
        *x++ = box_.straight ? between(corner, {points_[i], points_[j], points_[k]}) : here(i, j, k);
}

std::vector<std::int64_t> ElementBox::ids(std::int64_t first, std::int64_t last, int order) const {
  Index wide{};
  for (std::size_t d = 0; d < 3; ++d) wide[d] = elements[d] * order + (periodic[d] ? 0 : 1);
  const auto n = static_cast<std::size_t>(order) + 1;
  require(order >= least_order && order <= most_order, "elements of order " + std::to_string(order) + " have no ids");
  return by_elements<std::int64_t>(*this, first, last, order, 0, [&](const Index& at, std::int64_t* ids) {
    // Parts of an id that a point has by its place along each axis.
    std::int64_t part[3][most_order + 1];
    const std::int64_t step[] = {1, wide[0], wide[0] * wide[1]};
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t i = 0; i < n; ++i)
        part[d][i] = (at[d] * order + static_cast<std::int64_t>(i)) % wide[d] * step[d];
    const auto inner = [n](std::size_t i) { return i > 0 && i + 1 < n; };
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < n; ++i, ++ids)
          if (!(inner(i) && inner(j) && inner(k))) *ids = 1 + part[0][i] + part[1][j] + part[2][k];
  });
}

std::vector<double> ElementBox::mask(std::int64_t first, std::int64_t last, int order) const {
  return by_elements<double>(*this, first, last, order, 1, [&](const Index& at, double* mask) {
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t end = 0; end < 2; ++end)
        if (!periodic[d] && !natural[d][end] && touches(*this, at, d, end))
          on_face(order, d, end, [&](std::size_t p) { mask[p] = 0; });
  });
}

std::vector<std::int64_t> ElementBox::points_on(int axis, int end, std::int64_t first, std::int64_t last,
                                                int order) const {
  const auto d = static_cast<std::size_t>(axis), e = static_cast<std::size_t>(end);
  const std::int64_t cube = std::int64_t{order + 1} * (order + 1) * (order + 1);
  std::vector<std::int64_t> found;
  for (std::int64_t element = first; element < last; ++element)
    if (touches(*this, index_of(*this, element), d, e))
      on_face(order, d, e,
              [&](std::size_t p) { found.push_back((element - first) * cube + static_cast<std::int64_t>(p)); });
  return found;
}

}  // namespace slipstream::sem

// A box of elements: places, ids and Dirichlet sides of its points.
#include <cmath>
#include <limits>
#include <numbers>

#include <slipstream/error.hpp>
#include <slipstream/sem.hpp>

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

/// Calls f(element, i, j, k) for every point in order.
template <class F>
void for_points(std::int64_t first, std::int64_t last, int order, F f) {
  for (std::int64_t e = first; e < last; ++e)
    for (int k = 0; k <= order; ++k)
      for (int j = 0; j <= order; ++j)
        for (int i = 0; i <= order; ++i) f(e, std::array<int, 3>{i, j, k});
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
  if (straight) {
    // At the corners and on sides exactly what they have: a weight is 0 or 1 there.
    ElementBox bent = *this;
    bent.straight = false;
    Point x{};
    for (int corner = 0; corner < 8; ++corner) {
      const Point at{corner & 1 ? 1.0 : -1.0, corner & 2 ? 1.0 : -1.0, corner & 4 ? 1.0 : -1.0};
      const double weight = 0.125 * (1 + at[0] * r[0]) * (1 + at[1] * r[1]) * (1 + at[2] * r[2]);
      const Point there = bent.place(element, at);
      for (std::size_t d = 0; d < 3; ++d) x[d] += weight * there[d];
    }
    return x;
  }
  const Index at = index_of(*this, element);
  Point y{};
  double bump = deform;
  for (std::size_t d = 0; d < 3; ++d) {
    const double from = edge(at[d], elements[d], stretch[d]), to = edge(at[d] + 1, elements[d], stretch[d]);
    y[d] = 0.5 * ((1 - r[d]) * from + (1 + r[d]) * to);
    bump *= std::sin(2 * std::numbers::pi * y[d]);
  }
  for (std::size_t d = 0; d < 3; ++d) y[d] = lower[d] + (upper[d] - lower[d]) * (y[d] + bump);
  return y;
}

std::vector<std::int64_t> ElementBox::ids(std::int64_t first, std::int64_t last, int order) const {
  Index wide{};
  for (std::size_t d = 0; d < 3; ++d) wide[d] = elements[d] * order + (periodic[d] ? 0 : 1);
  std::vector<std::int64_t> found;
  const auto inner = [order](int i) { return i > 0 && i < order; };
  for_points(first, last, order, [&](std::int64_t e, const std::array<int, 3>& p) {
    if (inner(p[0]) && inner(p[1]) && inner(p[2])) {
      found.push_back(0);
      return;
    }
    const Index at = index_of(*this, e);
    Index x{};
    for (std::size_t d = 0; d < 3; ++d) x[d] = (at[d] * order + p[d]) % wide[d];
    found.push_back(1 + x[0] + wide[0] * (x[1] + wide[1] * x[2]));
  });
  return found;
}

std::vector<double> ElementBox::mask(std::int64_t first, std::int64_t last, int order) const {
  std::vector<double> found;
  for_points(first, last, order, [&](std::int64_t e, const std::array<int, 3>& p) {
    const Index at = index_of(*this, e);
    bool on_side = false;
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t end = 0; end < 2 && !periodic[d]; ++end)
        on_side |= !natural[d][end] && at[d] * order + p[d] == (end == 0 ? 0 : elements[d] * order);
    found.push_back(on_side ? 0 : 1);
  });
  return found;
}

std::vector<std::int64_t> ElementBox::points_on(int axis, int end, std::int64_t first, std::int64_t last,
                                                int order) const {
  const auto d = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> found;
  std::int64_t point = 0;
  for_points(first, last, order, [&](std::int64_t e, const std::array<int, 3>& p) {
    if (index_of(*this, e)[d] * order + p[d] == (end == 0 ? 0 : elements[d] * order)) found.push_back(point);
    ++point;
  });
  return found;
}

}  // namespace slipstream::sem

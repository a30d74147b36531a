// A box of elements: coordinates and ids of its points, and its Dirichlet sides.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

#include <slipstream/error.hpp>
#include <slipstream/sem.hpp>

#include "device/in_parallel.hpp"
#include "solver/sem/places.hpp"

namespace slipstream::sem {
namespace {

const char* const axes[] = {"x", "y", "z"};

using Index = std::array<std::int64_t, 3>;

Index index_of(const ElementBox& box, std::int64_t element) {
  const auto& n = box.elements;
  return {element % n[0], element / n[0] % n[1], element / (n[0] * n[1])};
}

/// Start of the n-th of `count` intervals in [0, 1], whose widths grow geometrically to `stretch` times the first.
double edge(std::int64_t n, std::int64_t count, double stretch) {
  if (stretch == 1 || count == 1) return static_cast<double>(n) / static_cast<double>(count);
  const double growth = std::log(stretch) / static_cast<double>(count - 1);
  return std::expm1(growth * static_cast<double>(n)) / std::expm1(growth * static_cast<double>(count));
}

/// Position of the point r in [-1, 1] of element n along an axis, relative to the box, before bending.
double along(const ElementBox& box, std::size_t axis, std::int64_t n, double r) {
  const double from = edge(n, box.elements[axis], box.stretch[axis]);
  const double to = edge(n + 1, box.elements[axis], box.stretch[axis]);
  return 0.5 * ((1 - r) * from + (1 + r) * to);
}

double sine(double y) { return std::sin(2 * std::numbers::pi * y); }

/// Coordinates of a point in the deformed box, from relative coordinates y and the sines of these.
Point bent(const ElementBox& box, const Point& y, const Point& sines) {
  double bump = box.deform;
  for (std::size_t d = 0; d < 3; ++d) bump *= sines[d];
  Point x{};
  for (std::size_t d = 0; d < 3; ++d) x[d] = box.lower[d] + (box.upper[d] - box.lower[d]) * (y[d] + bump);
  return x;
}

/// Applies the box's own map, if it has one, to coordinates in the undeformed box.
void map_places(const ElementBox& box, std::span<Point> places) {
  if (!box.map || places.empty()) return;
  std::vector<Point> there;
  try {
    there = box.map(places);
  } catch (const Error& error) {
    throw Error(error.code(), std::string("the map of the elements: ") + error.what(), error.facts());
  }
  require(
      there.size() == places.size(), ErrorCode::mismatch,
      "the map of the elements gave " + std::to_string(there.size()) + " places for " + std::to_string(places.size()),
      {{"option", "map"}, {"given", there.size()}, {"needed", places.size()}});
  for (std::size_t p = 0; p < places.size(); ++p)
    if (!std::isfinite(there[p][0]) || !std::isfinite(there[p][1]) || !std::isfinite(there[p][2]))
      throw Error(ErrorCode::invalid_argument, "the map of the elements has no finite place for " + text(places[p]),
                  {{"option", "map"}, {"problem", "not_finite"}, {"place", text(places[p])}});
  std::copy(there.begin(), there.end(), places.begin());
}

/// Trilinear interpolation between eight corners at r in [-1, 1]^3. At corners and on sides it is exact, because
/// weights are 0 or 1 there.
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

/// Positions along an axis at which opposite periodic sides are compared: vertices and midpoints of up to 128 elements.
std::vector<double> looked_at(const ElementBox& box, std::size_t axis) {
  constexpr std::int64_t most = 257;
  const std::int64_t halves = 2 * box.elements[axis], count = std::min(halves + 1, most);
  std::vector<double> shares;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t at = n * halves / (count - 1), element = std::min(at / 2, box.elements[axis] - 1);
    shares.push_back(along(box, axis, element, static_cast<double>(at - 2 * element) - 1));
  }
  return shares;
}

/// Throws Error unless opposite sides of a periodic axis differ by a constant vector.
void check_periodic(const ElementBox& box, std::size_t axis) {
  const std::size_t a = (axis + 1) % 3, b = (axis + 2) % 3;
  std::array<std::vector<Point>, 2> before;
  for (const double ya : looked_at(box, a))
    for (const double yb : looked_at(box, b))
      for (std::size_t end = 0; end < 2; ++end) {
        Point y{};
        y[a] = ya;
        y[b] = yb;
        y[axis] = static_cast<double>(end);
        before[end].push_back(bent(box, y, {0, 0, 0}));  // the box's sine-shaped deformation is zero on its sides
      }
  std::array<std::vector<Point>, 2> there = before;
  Point least = there[0][0], most = least;
  for (auto& side : there) {
    map_places(box, side);
    for (const Point& x : side)
      for (std::size_t d = 0; d < 3; ++d) {
        least[d] = std::min(least[d], x[d]);
        most[d] = std::max(most[d], x[d]);
      }
  }
  const double size = std::max({most[0] - least[0], most[1] - least[1], most[2] - least[2]});
  for (std::size_t p = 0; p < there[0].size(); ++p)
    for (std::size_t d = 0; d < 3; ++d) {
      const double step = there[1][p][d] - there[0][p][d], first = there[1][0][d] - there[0][0][d];
      if (!(std::abs(step - first) <= 1e-9 * size))
        throw Error(ErrorCode::unsupported,
                    std::string("the axis ") + axes[axis] + " is periodic, and the map does not keep it so: it takes " +
                        text(before[0][p]) + " to " + text(there[0][p]) + " and what is across, " + text(before[1][p]) +
                        ", to " + text(there[1][p]) + "; opposite places must differ by the same vector everywhere",
                    {{"option", "map"}, {"problem", "periodic"}, {"axis", axes[axis]}, {"place", text(before[0][p])}});
    }
}

/// Makes an array with a value per point: `otherwise`, unless f(indices of an element, its values) sets another one.
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

/// The two axes along a side across `axis`, the lower first.
std::array<std::size_t, 2> others(std::size_t axis) { return {axis == 0 ? 1u : 0u, axis == 2 ? 1u : 2u}; }

std::int64_t face_number(const ElementBox& box, const Index& at, std::size_t axis) {
  const auto [a, b] = others(axis);
  return at[a] + box.elements[a] * at[b];
}

/// Whether an element lies at the low (end = 0) or high side of an axis.
bool touches(const ElementBox& box, const Index& at, std::size_t axis, std::size_t end) {
  return at[axis] == (end == 0 ? 0 : box.elements[axis] - 1);
}

/// Calls f(p) for each point p of an element's low or high face across an axis, in ascending order.
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

std::vector<std::int64_t> faces_around(const ElementBox& box, const std::array<std::int64_t, 3>& element,
                                       std::size_t axis, int toward_a, int toward_b) {
  const auto [a, b] = others(axis);
  std::vector<std::int64_t> found;
  for (const int sb : {0, toward_b})
    for (const int sa : {0, toward_a}) {
      Index at = element;
      at[a] += sa;
      at[b] += sb;
      bool there = true;
      for (const std::size_t d : {a, b}) {
        if (box.periodic[d]) at[d] = (at[d] + box.elements[d]) % box.elements[d];
        there = there && at[d] >= 0 && at[d] < box.elements[d];
      }
      if (there) found.push_back(face_number(box, at, axis));
    }
  return found;
}

std::string text(const Point& p) {
  char line[96];
  std::snprintf(line, sizeof line, "(%.4g, %.4g, %.4g)", p[0], p[1], p[2]);
  return line;
}

std::vector<double> shares_along(const ElementBox& box, std::size_t axis, const Rule& rule) {
  std::vector<double> shares{0};
  for (std::int64_t e = 0; e < box.elements[axis]; ++e)
    for (int i = 1; i <= rule.order; ++i)
      shares.push_back(along(box, axis, e, rule.points[static_cast<std::size_t>(i)]));
  return shares;
}

void ElementBox::check() const {
  for (int d = 0; d < 3; ++d) {
    const auto a = static_cast<std::size_t>(d);
    const std::string along = std::string("a box of elements along ") + axes[d] + ": ";
    require(elements[a] >= 1, along + std::to_string(elements[a]) + " elements; there must be one or more",
            {{"option", "elements"}, {"axis", axes[d]}, {"given", elements[a]}});
    require(std::isfinite(upper[a] - lower[a]) && upper[a] > lower[a],
            along + "from " + std::to_string(lower[a]) + " to " + std::to_string(upper[a]) + " is no extent",
            {{"option", "lower, upper"}, {"axis", axes[d]}});
    require(std::isfinite(stretch[a]) && stretch[a] > 0,
            along + "a stretch of " + std::to_string(stretch[a]) + "; it is last width over first, above 0",
            {{"option", "stretch"}, {"axis", axes[d]}, {"given", stretch[a]}});
  }
  require(std::isfinite(deform), "a box of elements: the amplitude of its deformation is not finite",
          {{"option", "deform"}});
  // Elements have at most 12 intervals along an edge, so a box has at most (12 ex + 1)(12 ey + 1)(12 ez + 1) ids.
  double ids = 1;
  for (const std::int64_t n : elements) ids *= static_cast<double>(most_order) * static_cast<double>(n) + 1;
  require(ids < 9e18, ErrorCode::unsupported, "a box of elements has more points than 64 bits can number",
          {{"option", "elements"}, {"needed", ids}});
  for (std::size_t d = 0; map && d < 3; ++d)
    if (periodic[d]) check_periodic(*this, d);
}

Point ElementBox::place(std::int64_t element, const Point& r) const {
  const Index at = index_of(*this, element);
  const auto here = [&](const Point& local) {
    Point y{}, sines{};
    for (std::size_t d = 0; d < 3; ++d) {
      y[d] = along(*this, d, at[d], local[d]);
      sines[d] = sine(y[d]);
    }
    Point x = bent(*this, y, sines);
    map_places(*this, {&x, 1});
    return x;
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

void BoxPlaces::before_map(std::int64_t element, bool corners, Point* x) const {
  const Index at = index_of(box_, element);
  const std::size_t n = points_.size(), step = corners ? n - 1 : 1;
  const Share* own[3];
  for (std::size_t d = 0; d < 3; ++d) own[d] = shares_[d].data() + static_cast<std::size_t>(at[d]) * n;
  for (std::size_t k = 0; k < n; k += step)
    for (std::size_t j = 0; j < n; j += step)
      for (std::size_t i = 0; i < n; i += step) {
        const Share &a = own[0][i], &b = own[1][j], &c = own[2][k];
        *x++ = bent(box_, {a.y, b.y, c.y}, {a.sine, b.sine, c.sine});
      }
}

void BoxPlaces::of(std::int64_t first, std::size_t count, Point* x) const {
  const std::size_t n = points_.size(), cube = n * n * n, each = box_.straight ? 8 : cube;
  std::vector<Point> corners(box_.straight ? 8 * count : 0);
  Point* const known = box_.straight ? corners.data() : x;
  const auto by_elements = [&](const auto& work) {
    in_parallel(threads_for(count * cube), count, [&](std::size_t, std::size_t begin, std::size_t behind) {
      for (std::size_t e = begin; e < behind; ++e) work(e);
    });
  };
  by_elements(
      [&](std::size_t e) { before_map(first + static_cast<std::int64_t>(e), box_.straight, known + e * each); });
  map_places(box_, {known, count * each});
  if (!box_.straight) return;
  by_elements([&](std::size_t e) {
    const auto corner = [&](int c, const Point&) { return corners[8 * e + static_cast<std::size_t>(c)]; };
    Point* to = x + e * cube;
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < n; ++i) *to++ = between(corner, {points_[i], points_[j], points_[k]});
  });
}

std::vector<std::int64_t> ElementBox::ids(std::int64_t first, std::int64_t last, int order) const {
  Index wide{};
  for (std::size_t d = 0; d < 3; ++d) wide[d] = elements[d] * order + (periodic[d] ? 0 : 1);
  const auto n = static_cast<std::size_t>(order) + 1;
  require(order >= least_order && order <= most_order, ErrorCode::unsupported,
          "elements of order " + std::to_string(order) + " have no ids", {{"option", "order"}, {"given", order}});
  return by_elements<std::int64_t>(*this, first, last, order, 0, [&](const Index& at, std::int64_t* ids) {
    // Contribution of each axis to the id of a point.
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

bool DirichletFaces::any() const {
  for (const auto& axis : of)
    for (const std::vector<bool>& side : axis)
      if (std::find(side.begin(), side.end(), true) != side.end()) return true;
  return false;
}

DirichletFaces ElementBox::dirichlet(const SideFlags& sides) const {
  DirichletFaces faces;
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t end = 0; end < 2; ++end)
      if (!periodic[d])
        faces.of[d][end].assign(static_cast<std::size_t>(elements[(d + 1) % 3] * elements[(d + 2) % 3]), sides[d][end]);
  return faces;
}

std::int64_t ElementBox::face_of(int axis, std::int64_t element) const {
  return face_number(*this, index_of(*this, element), static_cast<std::size_t>(axis));
}

std::vector<Point> ElementBox::face_centres(int axis, int end) const {
  const auto d = static_cast<std::size_t>(axis);
  const auto [a, b] = others(d);
  std::vector<Point> known;
  Index at{};
  at[d] = end == 0 ? 0 : elements[d] - 1;
  const auto add = [&](double r, double s) {
    Point y{}, sines{};
    y[d] = end;
    y[a] = along(*this, a, at[a], r);
    y[b] = along(*this, b, at[b], s);
    known.push_back(bent(*this, y, sines));  // the box's sine-shaped deformation is zero on its sides
  };
  for (at[b] = 0; at[b] < elements[b]; ++at[b])
    for (at[a] = 0; at[a] < elements[a]; ++at[a]) {
      if (!straight) add(0, 0);
      for (int corner = 0; straight && corner < 4; ++corner) add(corner & 1 ? 1 : -1, corner & 2 ? 1 : -1);
    }
  map_places(*this, known);
  if (!straight) return known;
  std::vector<Point> centres(known.size() / 4, Point{});
  for (std::size_t n = 0; n < known.size(); ++n)
    for (std::size_t c = 0; c < 3; ++c) centres[n / 4][c] += 0.25 * known[n][c];
  return centres;
}

std::vector<double> ElementBox::mask(const DirichletFaces& faces, std::int64_t first, std::int64_t last,
                                     int order) const {
  return by_elements<double>(*this, first, last, order, 1, [&](const Index& at, double* mask) {
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t end = 0; end < 2; ++end) {
        if (!touches(*this, at, d, end) || faces.of[d][end].empty()) continue;
        const auto n = static_cast<std::size_t>(order) + 1;
        std::size_t place = 0;
        on_face(order, d, end, [&](std::size_t p) {
          const auto toward = [&](std::size_t i) { return i == 0 ? -1 : i + 1 == n ? 1 : 0; };
          const int a = toward(place % n), b = toward(place / n);
          ++place;
          for (const std::int64_t face : faces_around(*this, at, d, a, b))
            if (faces.of[d][end][static_cast<std::size_t>(face)]) mask[p] = 0;
        });
      }
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

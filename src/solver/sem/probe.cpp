// Interpolation to arbitrary points: finds their elements, and evaluates the elements' polynomials.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <slipstream/error.hpp>

#include "device/upload.hpp"
#include "machine/agree.hpp"
#include "solver/sem/kernels.hpp"
#include "solver/sem/places.hpp"

namespace slipstream::sem {
namespace {

/// Tolerance beyond [-1, 1] within which a point counts as on the side of an element.
constexpr double on_side = 2e-8;

struct Bounds {
  Point low, high;
  bool hold(const Point& x) const {
    for (std::size_t d = 0; d < 3; ++d)
      if (!(x[d] >= low[d] && x[d] <= high[d])) return false;
    return true;
  }
};

/// Values and derivatives of the Lagrange polynomials at r.
struct Weights {
  std::vector<double> value, slope;
  Weights(const Rule& rule, double r) : value(interpolation(rule, {&r, 1})) {
    const std::size_t n = rule.points.size();
    // The derivative at r is interpolated from derivatives at the nodes, which is exact.
    for (std::size_t m = 0; m < n; ++m) {
      double sum = 0;
      for (std::size_t l = 0; l < n; ++l) sum += value[l] * rule.derivative[l * n + m];
      slope.push_back(sum);
    }
  }
};

/// Coordinates at r by the element's polynomials, and their derivatives along r, s and t.
struct Image {
  Point at{};
  std::array<Point, 3> along{};
  Image(const Rule& rule, const Point* x, const Point& r) {
    const std::size_t n = rule.points.size();
    const Weights of[3] = {{rule, r[0]}, {rule, r[1]}, {rule, r[2]}};
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) {
        Point value{}, slope{};
        for (std::size_t i = 0; i < n; ++i, ++x)
          for (std::size_t d = 0; d < 3; ++d) {
            value[d] = std::fma(of[0].value[i], (*x)[d], value[d]);
            slope[d] = std::fma(of[0].slope[i], (*x)[d], slope[d]);
          }
        for (std::size_t d = 0; d < 3; ++d) {
          at[d] += of[1].value[j] * of[2].value[k] * value[d];
          along[0][d] += of[1].value[j] * of[2].value[k] * slope[d];
          along[1][d] += of[1].slope[j] * of[2].value[k] * value[d];
          along[2][d] += of[1].value[j] * of[2].slope[k] * value[d];
        }
      }
  }
};

double triple(const Point& a, const Point& b, const Point& c) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

/// Searches for a point by Newton's method, from the element's nearest node. Returns whether the point lies in the
/// element.
bool find_within(const Rule& rule, const Point* x, const Point& point, Point& r) {
  const std::size_t n = rule.points.size();
  std::size_t nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < n * n * n; ++p) {
    double far = 0;
    for (std::size_t d = 0; d < 3; ++d) far += (x[p][d] - point[d]) * (x[p][d] - point[d]);
    if (far < least) least = far, nearest = p;
  }
  r = {rule.points[nearest % n], rule.points[nearest / n % n], rule.points[nearest / (n * n)]};
  // Newton's method converges quadratically, so after a step below this only rounding errors remain.
  constexpr double small = 1e-9;
  for (int tries = 0; tries < 40; ++tries) {
    const Image here(rule, x, r);
    Point off;
    for (std::size_t d = 0; d < 3; ++d) off[d] = point[d] - here.at[d];
    const auto& [a, b, c] = here.along;
    const double determinant = triple(a, b, c);
    const Point step{triple(off, b, c) / determinant, triple(a, off, c) / determinant, triple(a, b, off) / determinant};
    double largest = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      if (!std::isfinite(step[d])) return false;
      // Limits steps and range, because polynomials grow fast outside of the element.
      r[d] = std::clamp(r[d] + std::clamp(step[d], -1.0, 1.0), -1.2, 1.2);
      largest = std::max(largest, std::abs(step[d]));
    }
    if (largest > small) continue;
    for (double& part : r) {
      if (std::abs(part) > 1 + on_side) return false;
      part = std::clamp(part, -1.0, 1.0);
    }
    return true;
  }
  return false;
}

/// Finds elements whose bounding boxes contain a point, by a uniform grid of lists.
class Finder {
 public:
  Finder(const std::vector<Point>& places, std::size_t cube) {
    for (std::size_t first = 0; first < places.size(); first += cube) {
      Bounds box{places[first], places[first]};
      for (std::size_t p = first; p < first + cube; ++p)
        for (std::size_t d = 0; d < 3; ++d) {
          box.low[d] = std::min(box.low[d], places[p][d]);
          box.high[d] = std::max(box.high[d], places[p][d]);
        }
      // The bounding box is enlarged, because a bent side may reach farther between its points.
      double extent = 0;
      for (std::size_t d = 0; d < 3; ++d) extent = std::max(extent, box.high[d] - box.low[d]);
      for (std::size_t d = 0; d < 3; ++d) box.low[d] -= 0.25 * extent, box.high[d] += 0.25 * extent;
      boxes_.push_back(box);
    }
    if (boxes_.empty()) return;
    all_ = boxes_.front();
    for (const Bounds& box : boxes_)
      for (std::size_t d = 0; d < 3; ++d) {
        all_.low[d] = std::min(all_.low[d], box.low[d]);
        all_.high[d] = std::max(all_.high[d], box.high[d]);
      }
    across_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::cbrt(static_cast<double>(boxes_.size()))));
    cells_.resize(static_cast<std::size_t>(across_ * across_ * across_));
    for (std::size_t e = 0; e < boxes_.size(); ++e) {
      const auto low = cell(boxes_[e].low), high = cell(boxes_[e].high);
      for (std::int64_t z = low[2]; z <= high[2]; ++z)
        for (std::int64_t y = low[1]; y <= high[1]; ++y)
          for (std::int64_t x = low[0]; x <= high[0]; ++x) list(x, y, z).push_back(e);
    }
  }
  std::vector<std::size_t> near(const Point& x) {
    std::vector<std::size_t> found;
    if (boxes_.empty() || !all_.hold(x)) return found;
    const auto at = cell(x);
    for (const std::size_t e : list(at[0], at[1], at[2]))
      if (boxes_[e].hold(x)) found.push_back(e);
    return found;
  }

 private:
  std::array<std::int64_t, 3> cell(const Point& x) const {
    std::array<std::int64_t, 3> at{};
    for (std::size_t d = 0; d < 3; ++d) {
      const double share = (x[d] - all_.low[d]) / (all_.high[d] - all_.low[d]);
      at[d] = std::clamp<std::int64_t>(static_cast<std::int64_t>(share * static_cast<double>(across_)), 0, across_ - 1);
    }
    return at;
  }
  std::vector<std::size_t>& list(std::int64_t x, std::int64_t y, std::int64_t z) {
    return cells_[static_cast<std::size_t>(x + across_ * (y + across_ * z))];
  }
  std::vector<Bounds> boxes_;
  Bounds all_{};
  std::int64_t across_ = 1;
  std::vector<std::vector<std::size_t>> cells_;
};

}  // namespace

struct Probe::Impl {
  Space& space;
  std::vector<Point> points;
  /// The points to evaluate that lie in elements on one device of this rank.
  struct Here {
    std::vector<std::int64_t> which;  ///< indices of the points in the caller's order
    std::vector<std::int64_t> element_of;
    std::vector<double> weights_of;
    Buffer<std::int64_t> element{};
    Buffer<double> weights{}, out{}, read{};
  };
  std::vector<Here> here{};

  void find() {
    const Rule rule = gauss_lobatto(space.order());
    const auto cube = static_cast<std::size_t>(space.points_per_element());
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> mine(points.size(), none);
    std::vector<Point> local(points.size());
    for (std::size_t d = 0; d < here.size(); ++d) {
      const std::vector<Point>& places = space.places(d);
      Finder finder(places, cube);
      for (std::size_t n = 0; n < points.size(); ++n)
        for (const std::size_t e : finder.near(points[n])) {
          const std::int64_t number = space.first_element(d) + static_cast<std::int64_t>(e);
          Point r;
          if (number < mine[n] && find_within(rule, places.data() + e * cube, points[n], r))
            mine[n] = number, local[n] = r;
        }
    }
    // Neighbouring ranks may both find a point; the lowest of them evaluates it.
    std::vector<std::int64_t> lowest(points.size(), none);
    for (const std::string& text :
         space.comm().all_gather({reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(std::int64_t)}))
      for (std::size_t n = 0; n < points.size(); ++n) {
        std::int64_t number = 0;
        std::memcpy(&number, text.data() + n * sizeof number, sizeof number);
        lowest[n] = std::min(lowest[n], number);
      }
    for (std::size_t n = 0; n < points.size(); ++n)
      require(lowest[n] != none, ErrorCode::not_found, "the point " + text(points[n]) + " is in no element",
              {{"point", text(points[n])}, {"index", n}});
    for (std::size_t d = 0; d < here.size(); ++d) {
      Here& on = here[d];
      for (std::size_t n = 0; n < points.size(); ++n) {
        const std::int64_t e = lowest[n] - space.first_element(d);
        if (e < 0 || e >= space.elements(d)) continue;
        on.which.push_back(static_cast<std::int64_t>(n));
        on.element_of.push_back(e);
        for (const double r : local[n]) {
          const std::vector<double> values = interpolation(rule, {&r, 1});
          on.weights_of.insert(on.weights_of.end(), values.begin(), values.end());
        }
      }
      if (on.which.empty()) continue;
      Stream& stream = space.streams()[d];
      on.element = upload(stream, on.element_of);
      on.weights = upload(stream, on.weights_of);
      on.out = Buffer<double>(stream.device(), on.which.size());
      on.read = Buffer<double>(stream.device(), on.which.size(), Memory::pinned);
      stream.synchronize();
    }
  }
};

Probe::Probe(Space& space, std::vector<Point> points) : impl_(new Impl{space, std::move(points)}) {
  impl_->here.resize(space.streams().size());
  impl_->find();
}
Probe::~Probe() = default;
Probe::Probe(Probe&&) noexcept = default;

const std::vector<Point>& Probe::points() const { return impl_->points; }

std::vector<double> Probe::values(const std::vector<const double*>& u) {
  Impl& s = *impl_;
  const int n = s.space.order() + 1;
  for (std::size_t d = 0; d < s.here.size(); ++d) {
    Impl::Here& on = s.here[d];
    if (on.which.empty()) continue;
    Stream& stream = s.space.streams()[d];
    evaluate(stream, {n, u.at(d), on.weights.data(), on.element.data(), on.out.data(),
                      static_cast<std::int64_t>(on.which.size())});
    copy(stream, on.read.data(), on.out.data(), on.read.bytes());
  }
  struct Found {
    std::int64_t which;
    double value;
  };
  std::vector<Found> mine;
  for (std::size_t d = 0; d < s.here.size(); ++d) {
    s.space.streams()[d].synchronize();
    for (std::size_t p = 0; p < s.here[d].which.size(); ++p)
      mine.push_back({s.here[d].which[p], s.here[d].read.data()[p]});
  }
  std::vector<double> all(s.points.size());
  for (const std::string& bytes :
       s.space.comm().all_gather({reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(Found)})) {
    std::vector<Found> theirs(bytes.size() / sizeof(Found));
    std::memcpy(theirs.data(), bytes.data(), bytes.size());
    for (const Found& found : theirs) all[static_cast<std::size_t>(found.which)] = found.value;
  }
  return all;
}

}  // namespace slipstream::sem

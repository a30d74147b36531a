#include "solver/sem/lifting.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "device/upload.hpp"
#include "machine/sum.hpp"
#include "solver/sem/impl.hpp"
#include "solver/sem/kernels.hpp"
#include "solver/sem/places.hpp"

namespace slipstream::sem {
namespace {

const char* const side_names[3][2] = {{"x-", "x+"}, {"y-", "y+"}, {"z-", "z+"}};

}  // namespace

Lifting::Lifting(Space& space, const Options& options) : space_(space) {
  const ElementBox& box = space.box();
  for (std::size_t d = 0; d < 3; ++d) wide_[d] = box.elements[d] * options.order + 1;
  std::int64_t count = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end) {
      if (options.sides[axis][end].condition != Condition::value) continue;
      sides_.push_back({axis, end, count, options.sides[axis][end].given, {}});
      list_points(sides_.back());
      count += wide_[(axis + 1) % 3] * wide_[(axis + 2) % 3];
    }
  values_.resize(static_cast<std::size_t>(count));
  std::vector<double> shares;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::vector<double> along = shares_along(box, d, gauss_lobatto(options.order));
    shares.insert(shares.end(), along.begin(), along.end());
  }
  for (Stream& stream : space.streams())
    parts_.push_back({Buffer<double>(stream.device(), values_.size()), upload(stream, shares)});
}

std::int64_t Lifting::at(const Side& side, const Place& place) const {
  const std::size_t a = side.axis == 0 ? 1 : 0, b = side.axis == 2 ? 1 : 2;
  return side.begin + place[a] + wide_[a] * place[b];
}
double& Lifting::value(const Side& side, const Place& place) {
  return values_[static_cast<std::size_t>(at(side, place))];
}

void Lifting::list_points(Side& side) {
  const ElementBox& box = space_.box();
  const std::int64_t n = space_.order() + 1, cube = n * n * n;
  for (std::size_t d = 0; d < space_.streams().size(); ++d) {
    const std::int64_t first = space_.first_element(d), last = first + space_.elements(d);
    const auto axis = static_cast<int>(side.axis), end = static_cast<int>(side.end);
    for (const std::int64_t p : box.points_on(axis, end, first, last, space_.order())) {
      const std::int64_t e = first + p / cube;
      const std::array<std::int64_t, 3> element{e % box.elements[0], e / box.elements[0] % box.elements[1],
                                                e / (box.elements[0] * box.elements[1])};
      const std::array<std::int64_t, 3> local{p % n, p / n % n, p / (n * n) % n};
      Place place{};
      bool counts = true;
      for (std::size_t a = 0; a < 3; ++a) {
        place[a] = element[a] * space_.order() + local[a];
        // The element below has it, or across a periodic axis the first one.
        if (a != side.axis && local[a] == 0 && element[a] > 0) counts = false;
        if (box.periodic[a] && place[a] == wide_[a] - 1) counts = false;
      }
      if (!counts) continue;
      side.points.at.push_back(at(side, place));
      side.points.places.push_back(space_.places(d)[static_cast<std::size_t>(p)]);
    }
  }
}

std::vector<double> Lifting::mine(double time) const {
  std::vector<double> all(values_.size(), 0.0);
  for (const Side& side : sides_) {
    if (!side.given.at || side.points.at.empty()) continue;
    const std::vector<double> values = asked(side.given.at, side.points.places, time);
    for (std::size_t n = 0; n < values.size(); ++n) all[static_cast<std::size_t>(side.points.at[n])] += values[n];
  }
  return all;
}

Point Lifting::place_of(const Place& place) const {
  const ElementBox& box = space_.box();
  const Rule rule = gauss_lobatto(space_.order());
  std::array<std::int64_t, 3> element{};
  Point r{};
  for (std::size_t d = 0; d < 3; ++d) {
    element[d] = std::min(place[d] / rule.order, box.elements[d] - 1);
    r[d] = rule.points[static_cast<std::size_t>(place[d] - element[d] * rule.order)];
  }
  return box.place(element[0] + box.elements[0] * (element[1] + box.elements[1] * element[2]), r);
}

void Lifting::close_periodic_axes() {
  for (const Side& side : sides_)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (!space_.box().periodic[axis]) continue;
      const std::size_t other = 3 - side.axis - axis;
      Place low{}, high{};
      high[axis] = wide_[axis] - 1;
      for (std::int64_t n = 0; n < wide_[other]; ++n) {
        low[other] = high[other] = n;
        value(side, high) = value(side, low);
      }
    }
}

/// On an edge the latter side counts.
void Lifting::settle_edges() {
  for (const Side& side : sides_)
    for (const Side& later : sides_) {
      if (later.axis <= side.axis) continue;
      const std::size_t other = 3 - side.axis - later.axis;
      Place place{};
      place[side.axis] = side.end == 0 ? 0 : wide_[side.axis] - 1;
      place[later.axis] = later.end == 0 ? 0 : wide_[later.axis] - 1;
      for (; place[other] < wide_[other]; ++place[other]) {
        double& one = value(side, place);
        const double two = value(later, place);
        if (std::abs(one - two) > 1e-9 * largest_ && caution_.empty()) tell(side, later, place, one, two);
        one = two;
      }
    }
}

void Lifting::tell(const Side& side, const Side& later, const Place& place, double one, double two) {
  const Point x = place_of(place);
  char text[256];
  std::snprintf(text, sizeof text,
                "the sides %s and %s have %.4g and %.4g at (%.4g, %.4g, %.4g), where they meet: the solution jumps "
                "there, and errors fall slowly; the latter is taken",
                side_names[side.axis][side.end], side_names[later.axis][later.end], one, two, x[0], x[1], x[2]);
  caution_ = text;
}

void Lifting::take(std::vector<double> mine, Vector& out) {
  values_ = std::move(mine);
  sum_over_ranks(space_.comm(), values_);
  close_periodic_axes();
  largest_ = 0;
  for (const double value : values_) largest_ = std::max(largest_, std::abs(value));
  settle_edges();
  const auto [least, most] = std::minmax_element(values_.begin(), values_.end());
  middle_ = 0.5 * *least + 0.5 * *most;
  for (std::size_t d = 0; d < parts_.size(); ++d) {
    copy(space_.streams()[d], parts_[d].values.data(), values_.data(), parts_[d].values.bytes());
    Extension extension{};
    extension.values = parts_[d].values.data();
    std::int64_t shares = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      extension.begin[a][0] = extension.begin[a][1] = -1;
      extension.shares[a] = parts_[d].shares.data() + shares;
      extension.wide[a] = wide_[a];
      extension.elements[a] = space_.box().elements[a];
      shares += wide_[a];
    }
    for (const Side& side : sides_) extension.begin[side.axis][side.end] = side.begin;
    extension.first = space_.first_element(d);
    extension.order = space_.order();
    extension.middle = middle_;
    extend(space_.streams()[d], extension, out[d].data(), space_.points(d));
  }
}

}  // namespace slipstream::sem

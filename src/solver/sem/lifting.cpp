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

Lifting::Lifting(Space& space, const Patches& patches, const DirichletFaces& faces) : space_(space) {
  const ElementBox& box = space.box();
  for (std::size_t d = 0; d < 3; ++d) wide_[d] = box.elements[d] * space.order() + 1;
  std::int64_t count = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end) {
      Side side{axis, end, count, {}};
      for (const Patch& patch : patches)
        if (patch.axis == axis && patch.end == end && patch.side.condition == Condition::value)
          side.patches.push_back({patch.side.given, patch.faces, {}, {}});
      if (side.patches.empty()) continue;
      count += wide_[(axis + 1) % 3] * wide_[(axis + 2) % 3];
      given_.resize(static_cast<std::size_t>(count));
      list_points(side, faces.of[axis][end]);
      sides_.push_back(std::move(side));
    }
  values_.resize(given_.size());
  std::vector<double> shares;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::vector<double> along = shares_along(box, d, gauss_lobatto(space.order()));
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

void Lifting::list_points(Side& side, const std::vector<bool>& given) {
  const ElementBox& box = space_.box();
  const std::size_t a = side.axis == 0 ? 1 : 0, b = side.axis == 2 ? 1 : 2;
  const std::int64_t n = space_.order() + 1, cube = n * n * n;
  /// Finds the index of the first face around a point whose values are given; -1: none.
  const auto owner = [&](const Place& element, const Place& local) {
    const auto toward = [&](std::int64_t i) { return i == 0 ? -1 : i == n - 1 ? 1 : 0; };
    std::int64_t first = -1;
    for (const std::int64_t face : faces_around(box, element, side.axis, toward(local[a]), toward(local[b])))
      if (given[static_cast<std::size_t>(face)] && (first < 0 || face < first)) first = face;
    return first;
  };
  const auto number = [&](const Place& element, const Place& local) {
    Place place{};
    for (const std::size_t d : {a, b}) {
      place[d] = element[d] * space_.order() + local[d];
      if (box.periodic[d] && place[d] == wide_[d] - 1) place[d] = 0;
    }
    return at(side, place);
  };
  Place element{}, local{};
  for (element[b] = 0; element[b] < box.elements[b]; ++element[b])
    for (element[a] = 0; element[a] < box.elements[a]; ++element[a])
      for (local[b] = 0; local[b] < n; ++local[b])
        for (local[a] = 0; local[a] < n; ++local[a])
          if (owner(element, local) >= 0) given_[static_cast<std::size_t>(number(element, local))] = true;
  for (std::size_t d = 0; d < space_.streams().size(); ++d) {
    const std::int64_t first = space_.first_element(d), last = first + space_.elements(d);
    const auto axis = static_cast<int>(side.axis), end = static_cast<int>(side.end);
    for (const std::int64_t p : box.points_on(axis, end, first, last, space_.order())) {
      const std::int64_t e = first + p / cube, face = box.face_of(axis, e);
      element = {e % box.elements[0], e / box.elements[0] % box.elements[1], e / (box.elements[0] * box.elements[1])};
      local = {p % n, p / n % n, p / (n * n) % n};
      if (owner(element, local) != face) continue;
      const auto has = [&](std::int64_t i, std::size_t along) {
        // Along a periodic axis of one element both ends are one point. Only the low end gets its Dirichlet value.
        return !(box.periodic[along] && box.elements[along] == 1 && i == n - 1);
      };
      if (!has(local[a], a) || !has(local[b], b)) continue;
      for (Values& patch : side.patches) {
        if (!patch.faces[static_cast<std::size_t>(face)]) continue;
        patch.at.push_back(number(element, local));
        patch.places.push_back(space_.places(d)[static_cast<std::size_t>(p)]);
      }
    }
  }
}

std::vector<double> Lifting::mine(double time) const {
  std::vector<double> all(values_.size(), 0.0);
  for (const Side& side : sides_)
    for (const Values& patch : side.patches) {
      if (!patch.given.at || patch.at.empty()) continue;
      const std::vector<double> values = asked(patch.given.at, patch.places, time);
      for (std::size_t n = 0; n < values.size(); ++n) all[static_cast<std::size_t>(patch.at[n])] += values[n];
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
        known_[static_cast<std::size_t>(at(side, high))] = known_[static_cast<std::size_t>(at(side, low))];
      }
    }
}

/// Settles values on edges shared by several sides with prescribed values: the value of the last such side is used.
void Lifting::settle_edges() {
  for (const Side& side : sides_)
    for (const Side& later : sides_) {
      if (later.axis <= side.axis) continue;
      const std::size_t other = 3 - side.axis - later.axis;
      Place place{};
      place[side.axis] = side.end == 0 ? 0 : wide_[side.axis] - 1;
      place[later.axis] = later.end == 0 ? 0 : wide_[later.axis] - 1;
      for (; place[other] < wide_[other]; ++place[other]) {
        double &one = value(side, place), &two = value(later, place);
        const auto first = static_cast<std::size_t>(at(side, place)),
                   second = static_cast<std::size_t>(at(later, place));
        if (known_[first] && !known_[second]) {
          two = one;
        } else if (known_[second]) {
          if (known_[first] && std::abs(one - two) > 1e-9 * largest_ && caution_.empty())
            tell(side, later, place, one, two);
          one = two;
        }
        known_[first] = known_[second] = known_[first] || known_[second];
      }
    }
}

void Lifting::set_the_rest() {
  const auto first = static_cast<std::size_t>(std::find(known_.begin(), known_.end(), true) - known_.begin());
  double least = values_[first], most = least;
  for (std::size_t n = first; n < values_.size(); ++n) {
    if (!known_[n]) continue;
    least = std::min(least, values_[n]);
    most = std::max(most, values_[n]);
  }
  middle_ = 0.5 * least + 0.5 * most;
  for (std::size_t n = 0; n < values_.size(); ++n)
    if (!known_[n]) values_[n] = middle_;
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
  known_ = given_;
  close_periodic_axes();
  largest_ = 0;
  for (const double value : values_) largest_ = std::max(largest_, std::abs(value));
  settle_edges();
  set_the_rest();
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

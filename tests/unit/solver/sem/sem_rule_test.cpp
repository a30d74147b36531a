// Points, weights and derivatives of an element, and the geometry of boxes of elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <utility>

#include <slipstream/error.hpp>
#include <slipstream/sem.hpp>

#include "support/expect_error.hpp"

namespace slipstream::sem {
namespace {

class RuleOf : public testing::TestWithParam<int> {};

TEST_P(RuleOf, IntegratesAndDifferentiatesPolynomialsExactly) {
  const Rule rule = gauss_lobatto(GetParam());
  const std::size_t n = rule.points.size();
  ASSERT_EQ(n, static_cast<std::size_t>(GetParam()) + 1);
  EXPECT_EQ(rule.points.front(), -1);
  EXPECT_EQ(rule.points.back(), 1);
  for (int degree = 0; degree < 2 * GetParam(); ++degree) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += rule.weights[i] * std::pow(rule.points[i], degree);
    EXPECT_NEAR(sum, degree % 2 ? 0 : 2.0 / (degree + 1), 1e-14) << "x^" << degree;
  }
  for (int degree = 0; degree <= GetParam(); ++degree)
    for (std::size_t i = 0; i < n; ++i) {
      double slope = 0;
      for (std::size_t m = 0; m < n; ++m) slope += rule.derivative[i * n + m] * std::pow(rule.points[m], degree);
      EXPECT_NEAR(slope, degree ? degree * std::pow(rule.points[i], degree - 1) : 0, 2e-12) << "x^" << degree;
    }
}

TEST_P(RuleOf, InterpolatesPolynomialsOfItsOrderExactly) {
  const Rule rule = gauss_lobatto(GetParam());
  const std::vector<double> to{-1, -0.7, 0.1, 0.33, 1};
  const std::vector<double> matrix = interpolation(rule, to);
  ASSERT_EQ(matrix.size(), to.size() * rule.points.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    double value = 0;
    for (std::size_t m = 0; m < rule.points.size(); ++m)
      value += matrix[i * rule.points.size() + m] * std::pow(rule.points[m] + 0.2, GetParam());
    EXPECT_NEAR(value, std::pow(to[i] + 0.2, GetParam()), 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, RuleOf, testing::Range(least_order, most_order + 1));

TEST(SemRefuses, OrdersThatThereAreNot) {
  for (const int order : {-1, 0, most_order + 1})
    expect_error([&] { gauss_lobatto(order); }, ErrorCode::invalid_argument,
                 {{"option", "order"}, {"given", order}, {"least", least_order}, {"most", most_order}});
}

TEST(SemRefuses, BoxesThatAreNone) {
  ElementBox none;
  none.elements[1] = 0;
  expect_error([&] { none.check(); }, ErrorCode::invalid_argument,
               {{"option", "elements"}, {"axis", "y"}, {"given", 0}});
  ElementBox flat;
  flat.upper[2] = 0;
  expect_error([&] { flat.check(); }, ErrorCode::invalid_argument, {{"option", "lower, upper"}, {"axis", "z"}});
  ElementBox shrunk;
  shrunk.stretch[0] = -1;
  expect_error([&] { shrunk.check(); }, ErrorCode::invalid_argument,
               {{"option", "stretch"}, {"axis", "x"}, {"given", -1}});
}

TEST(SemRefuses, AnElementThatIsTurnedInsideOutByNumberAndPlace) {
  ElementBox box;
  box.elements = {4, 4, 4};
  box.deform = 0.3;
  const auto error = error_of([&] { geometry(box, gauss_lobatto(5), 0, box.count(), Factors::stored); });
  expect_error(error, ErrorCode::invalid_argument, {{"problem", "inside_out"}});
  EXPECT_LT(std::stoi(error->fact("element")), 64);
  EXPECT_EQ(error->fact("place").front(), '(');
}

ElementBox uneven(bool straight) {
  ElementBox box;
  box.elements = {3, 2, 4};
  box.lower = {-1, 0, 2};
  box.upper = {1, 3, 2.5};
  box.stretch = {1, 2.5, 0.5};
  box.deform = 0.1;
  box.straight = straight;
  return box;
}

Map each(std::function<Point(const Point&)> f) {
  return [f = std::move(f)](std::span<const Point> places) {
    std::vector<Point> there;
    for (const Point& x : places) there.push_back(f(x));
    return there;
  };
}

TEST(SemRefuses, MapsByElementAndPlaceWhereTheyFoldMirrorOrHaveNoPlace) {
  ElementBox box;
  box.elements = {4, 3, 2};
  const auto refused = [&](std::function<Point(const Point&)> map) {
    box.map = each(std::move(map));
    return error_of([&] { geometry(box, gauss_lobatto(3), 0, box.count(), Factors::stored); });
  };
  // The map folds at x = 0.8, within the last of four elements along x.
  const auto folded = refused([](const Point& x) { return Point{x[0] < 0.8 ? x[0] : 1.6 - x[0], x[1], x[2]}; });
  expect_error(folded, ErrorCode::invalid_argument, {{"element", 3}, {"problem", "inside_out"}});
  EXPECT_EQ(folded->fact("place").find("(0."), 0u) << folded->fact("place");
  expect_error(refused([](const Point& x) {
                 return Point{-x[0], x[1], x[2]};
               }),
               ErrorCode::invalid_argument, {{"element", 0}, {"problem", "inside_out"}, {"place", "(-0, 0, 0)"}});
  expect_error(refused([](const Point& x) {
                 return Point{1 / (x[0] - 1), x[1], x[2]};
               }),
               ErrorCode::invalid_argument, {{"option", "map"}, {"problem", "not_finite"}, {"place", "(1, 0, 0)"}});
  box.map = [](std::span<const Point>) { return std::vector<Point>(1); };
  expect_error([&] { geometry(box, gauss_lobatto(3), 0, 1, Factors::stored); }, ErrorCode::mismatch,
               {{"option", "map"}, {"given", 1}, {"needed", 64}});
}

TEST(SemRefuses, PeriodicAxesThatTheMapDoesNotKeep) {
  ElementBox box;
  box.elements = {2, 300, 2};
  box.periodic = {true, false, false};
  // The map shears the box along x: opposite sides differ by (1, 0.2, 0) everywhere.
  box.map = each([](const Point& x) { return Point{x[0], x[1] + 0.2 * x[0], x[2]}; });
  box.check();
  const auto refused = [&](std::function<Point(const Point&)> map) {
    box.map = each(std::move(map));
    return error_of([&] { box.check(); });
  };
  const Facts periodic{{"option", "map"}, {"problem", "periodic"}, {"axis", "x"}};
  const auto wedge = refused([](const Point& x) { return Point{x[0], x[1] + 0.2 * x[0] * x[1], x[2]}; });
  expect_error(wedge, ErrorCode::unsupported, periodic);
  EXPECT_EQ(wedge->fact("place").find("(0, "), 0u) << wedge->fact("place");
  // The map deforms a side only between the corners of elements.
  const auto bump = refused([](const Point& x) {
    return Point{x[0] * (1 + 0.01 * std::sin(2 * std::numbers::pi * x[2])), x[1], x[2]};
  });
  expect_error(bump, ErrorCode::unsupported, periodic);
  // The map closes the box to a ring: opposite sides coincide.
  box.periodic = {false, true, false};
  box.map = each([](const Point& x) {
    const double angle = 2 * std::numbers::pi * x[1];
    return Point{(1 + x[0]) * std::cos(angle), (1 + x[0]) * std::sin(angle), x[2]};
  });
  box.check();
}

TEST(SemRefuses, AffineFactorsOfDeformedElements) {
  ElementBox box;
  box.elements = {2, 2, 2};
  box.deform = 0.1;
  expect_error([&] { geometry(box, gauss_lobatto(3), 0, 8, Factors::affine); }, ErrorCode::unsupported,
               {{"problem", "affine"}});
}

TEST(SemBox, MassSumsToTheVolume) {
  for (const double deform : {0.0, 0.1}) {
    ElementBox box;
    box.elements = {4, 3, 4};
    box.lower = {-1, 0, 2};
    box.upper = {1, 3, 2.5};
    box.stretch = {1, 2.5, 0.5};
    box.deform = deform;
    double volume = 0;
    for (const double mass : geometry(box, gauss_lobatto(9), 0, box.count(), Factors::stored).mass) volume += mass;
    EXPECT_NEAR(volume, 3, deform > 0 ? 1e-4 : 1e-12) << "deformed by " << deform;
  }
}

TEST(SemBox, TheSineMapByAFunctionIsTheBuiltInOneToRounding) {
  ElementBox built_in = uneven(false), mapped = built_in;
  mapped.deform = 0;
  mapped.map = each([&](const Point& x) {
    double bump = built_in.deform;
    for (std::size_t d = 0; d < 3; ++d) {
      const double share = (x[d] - built_in.lower[d]) / (built_in.upper[d] - built_in.lower[d]);
      bump *= std::sin(2 * std::numbers::pi * share);
    }
    Point there = x;
    for (std::size_t d = 0; d < 3; ++d) there[d] += bump * (built_in.upper[d] - built_in.lower[d]);
    return there;
  });
  const Rule rule = gauss_lobatto(5);
  const Geometry a = geometry(built_in, rule, 0, built_in.count(), Factors::stored);
  const Geometry b = geometry(mapped, rule, 0, mapped.count(), Factors::stored);
  const double largest = *std::max_element(a.stiffness.begin(), a.stiffness.end());
  for (std::size_t n = 0; n < a.stiffness.size(); ++n) ASSERT_NEAR(a.stiffness[n], b.stiffness[n], 1e-12 * largest);
  for (std::size_t n = 0; n < a.mass.size(); ++n) ASSERT_NEAR(a.mass[n] / b.mass[n], 1, 1e-12);
}

TEST(SemBox, WidthsOfElementsGrowToTheStretch) {
  ElementBox box;
  box.elements = {5, 1, 1};
  box.stretch = {3, 1, 1};
  const auto width = [&](std::int64_t e) { return box.place(e, {1, 0, 0})[0] - box.place(e, {-1, 0, 0})[0]; };
  EXPECT_NEAR(width(4) / width(0), 3, 1e-12);
  EXPECT_NEAR(width(2) / width(1), width(1) / width(0), 1e-12);
}

TEST(SemBox, PointsHaveOneIdWhereTheirPlacesAreOne) {
  ElementBox box;
  box.elements = {3, 2, 2};
  box.periodic = {true, false, false};
  const int order = 3;
  const Geometry g = geometry(box, gauss_lobatto(order), 0, box.count(), Factors::stored);
  const std::vector<std::int64_t> ids = box.ids(0, box.count(), order);
  ASSERT_EQ(ids.size(), g.places.size());
  std::map<std::int64_t, Point> place;
  std::set<std::int64_t> distinct;
  for (std::size_t p = 0; p < ids.size(); ++p) {
    if (ids[p] == 0) continue;
    Point at = g.places[p];
    if (at[0] > 1 - 1e-12) at[0] = 0;
    const auto [found, fresh] = place.emplace(ids[p], at);
    for (std::size_t d = 0; d < 3; ++d) EXPECT_NEAR(found->second[d], at[d], 1e-14);
    distinct.insert(ids[p]);
  }
  // Points with ids, each counted once: the box's 9 x 7 x 7 points without the 8 inner points of each of 12 elements.
  EXPECT_EQ(distinct.size(), static_cast<std::size_t>(9 * 7 * 7 - 12 * 8));
}

TEST(SemBox, PlacesOfAllPointsAreThoseOfEachToTheBit) {
  for (const auto& [straight, mapped] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
    ElementBox box = uneven(straight);
    if (mapped)
      box.map = each([](const Point& x) { return Point{x[0] + 0.1 * x[1] * x[2], x[1] * (1 + 0.1 * x[1]), x[2]}; });
    const Rule rule = gauss_lobatto(4);
    const std::vector<Point> places = geometry(box, rule, 5, 11, Factors::stored).places;
    std::size_t p = 0;
    for (std::int64_t e = 5; e < 11; ++e)
      for (const double t : rule.points)
        for (const double s : rule.points)
          for (const double r : rule.points) ASSERT_EQ(places[p++], box.place(e, {r, s, t})) << "element " << e;
    EXPECT_EQ(p, places.size());
  }
}

TEST(SemBox, PointsOfASideAreThoseThatLieThereAndDirichletSidesAreMasked) {
  ElementBox box = uneven(false);
  SideFlags dirichlet{{{true, true}, {false, true}, {true, true}}};
  box.periodic[2] = true;
  const int order = 3;
  const std::int64_t first = 4, last = 22;
  const std::vector<Point> places = geometry(box, gauss_lobatto(order), first, last, Factors::stored).places;
  std::vector<double> mask(places.size(), 1);
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t end = 0; end < 2; ++end) {
      std::vector<std::int64_t> there;
      for (std::size_t p = 0; p < places.size(); ++p)
        if (places[p][d] == (end == 0 ? box.lower : box.upper)[d]) there.push_back(static_cast<std::int64_t>(p));
      EXPECT_EQ(box.points_on(static_cast<int>(d), static_cast<int>(end), first, last, order), there);
      for (const std::int64_t p : there)
        if (!box.periodic[d] && dirichlet[d][end]) mask[static_cast<std::size_t>(p)] = 0;
    }
  EXPECT_EQ(box.mask(box.dirichlet(dirichlet), first, last, order), mask);
}

/// The oracle searches all points of the Dirichlet faces by position. Elements that share only an edge or a corner with
/// a face have its points masked, too, also across a periodic axis.
TEST(SemBox, PointsOfSomeFacesOfASideAreMaskedInAllElementsThatHaveThem) {
  for (const bool periodic : {false, true}) {
    ElementBox box;
    box.elements = {3, 4, 2};
    box.periodic[1] = periodic;
    DirichletFaces faces = box.dirichlet(SideFlags{});
    // Dirichlet faces on the side x+, by indices (y, z) of their elements: (1, 0) and (0, 1); and one on the side z-
    faces.of[0][1] = {false, true, false, false, true, false, false, false};
    faces.of[2][0][5] = true;
    for (const int order : {1, 2, 5}) {
      const std::vector<Point> places = geometry(box, gauss_lobatto(order), 0, box.count(), Factors::stored).places;
      const auto within = [](double x, double low, double high) { return x > low - 1e-9 && x < high + 1e-9; };
      std::vector<double> mask;
      for (const Point& x : places) {
        bool fixed = within(x[2], 0, 0) && within(x[0], 2.0 / 3, 1) && within(x[1], 0.25, 0.5);
        if (within(x[0], 1, 1)) {
          fixed = fixed || (within(x[1], 0.25, 0.5) && within(x[2], 0, 0.5)) ||
                  ((within(x[1], 0, 0.25) || (periodic && within(x[1], 1, 1))) && within(x[2], 0.5, 1));
        }
        mask.push_back(fixed ? 0 : 1);
      }
      EXPECT_EQ(box.mask(faces, 0, box.count(), order), mask) << "order " << order << (periodic ? ", periodic" : "");
      EXPECT_EQ(box.mask(faces, 7, 20, order),
                std::vector<double>(mask.begin() + 7 * (order + 1) * (order + 1) * (order + 1),
                                    mask.begin() + 20 * (order + 1) * (order + 1) * (order + 1)));
    }
  }
}

TEST(SemBox, CentresOfFacesAreThePlacesInTheirMiddle) {
  for (const bool straight : {false, true}) {
    ElementBox box = uneven(false);
    box.straight = straight;
    box.map = each([](const Point& x) { return Point{x[0] + 0.1 * x[1] * x[2], x[1] * (1 + 0.1 * x[1]), x[2]}; });
    for (int axis = 0; axis < 3; ++axis)
      for (int end = 0; end < 2; ++end) {
        const std::vector<Point> centres = box.face_centres(axis, end);
        std::size_t found = 0;
        for (std::int64_t e = 0; e < box.count(); ++e) {
          if (box.points_on(axis, end, e, e + 1, 1).empty()) continue;
          Point r{};
          r[static_cast<std::size_t>(axis)] = end == 0 ? -1 : 1;
          const Point place = box.place(e, r), centre = centres.at(static_cast<std::size_t>(box.face_of(axis, e)));
          for (std::size_t d = 0; d < 3; ++d) EXPECT_NEAR(centre[d], place[d], 1e-14);
          ++found;
        }
        EXPECT_EQ(found, centres.size());
      }
  }
}

}  // namespace
}  // namespace slipstream::sem

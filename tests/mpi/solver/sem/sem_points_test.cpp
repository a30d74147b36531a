// Tests of interpolation to arbitrary points, and of the modal filter.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include <slipstream/sem.hpp>

#include "mpi/solver/sem/each_place.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/sem_rig.hpp"

namespace slipstream::sem {
namespace {

ElementBox stretched(double deform) {
  ElementBox box;
  box.elements = {3, 2, 4};
  box.lower = {-1, 0, 2};
  box.upper = {1, 3, 3};
  box.stretch = {2, 1, 0.5};
  box.deform = deform;
  return box;
}

/// Points in the box, and on sides and corners of elements and of the box.
std::vector<Point> some_points() {
  std::vector<Point> points{{-1, 0, 2}, {1, 3, 3}, {-1, 1.5, 2.25}, {0.3, 1.5, 2.9}};
  for (int n = 0; n < 60; ++n)
    points.push_back(
        {-1 + 2 * std::fmod(0.754877 * n, 1), 3 * std::fmod(0.569840 * n, 1), 2 + std::fmod(0.3247 * n, 1)});
  return points;
}

using PlainAt = double (*)(const Point&);

std::vector<double> probed(const Machine& machine, const ElementBox& box, int order, PlainAt u,
                           const std::vector<Point>& at) {
  Space space(Communicator::world(), machine, box, order);
  Vector values = space.vector();
  for (std::size_t d = 0; d < values.size(); ++d) {
    std::vector<double> here;
    for (const Point& x : space.places(d)) here.push_back(u(x));
    if (!here.empty()) copy(space.streams()[d], values[d].data(), here.data(), values[d].bytes());
    space.streams()[d].synchronize();
  }
  const std::vector<double*> parts = pointers(values);
  return Probe(space, at).values({parts.begin(), parts.end()});
}

double fifth(const Point& x) { return std::pow(x[0] + 0.4 * x[1] - x[2], 5) + x[0] * x[1] * x[2]; }
double wavy(const Point& x) { return std::sin(x[0] + 2 * x[1] - x[2]); }

class SemProbe : public testing::TestWithParam<Backend> {};

TEST_P(SemProbe, FindsPolynomialsOfTheOrderOnParallelepipeds) {
  const Machine machine = machine_here(GetParam(), 1);
  const std::vector<Point> points = some_points();
  const std::vector<double> found = probed(machine, stretched(0), 5, fifth, points);
  for (std::size_t n = 0; n < points.size(); ++n) EXPECT_NEAR(found[n], fifth(points[n]), 1e-12 * 300);
}

TEST_P(SemProbe, FallsWithTheOrderOnBentElements) {
  const Machine machine = machine_here(GetParam(), 1);
  const std::vector<Point> points = some_points();
  double before = 0;
  for (const auto& [order, most] :
       {std::pair{3, 0.2}, {5, 2e-2}, {7, 2e-3}, {9, 2e-4}, {11, 2e-5}, {13, 2e-6}, {15, 2e-7}}) {
    const std::vector<double> found = probed(machine, stretched(0.05), order, wavy, points);
    double off = 0;
    for (std::size_t n = 0; n < points.size(); ++n) off = std::max(off, std::abs(found[n] - wavy(points[n])));
    EXPECT_LT(off, most) << order;
    if (order > 3) {
      EXPECT_LT(off, before / 3) << order;
    }
    before = off;
  }
}

TEST_P(SemProbe, HasTheSameBitsOnAnyNumberOfDevices) {
  if (const std::string missing = unavailable(GetParam(), 2); !missing.empty()) GTEST_SKIP() << missing;
  const auto one = probed(machine_here(GetParam(), 1), stretched(0.05), 4, wavy, some_points());
  const auto two = probed(machine_here(GetParam(), 2), stretched(0.05), 4, wavy, some_points());
  EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(double)), 0);
}

TEST_P(SemProbe, NamesThePointThatIsInNoElement) {
  Space space(Communicator::world(), machine_here(GetParam(), 1), stretched(0.05), 4);
  expect_error(error_of([&] { Probe(space, {{0, 1, 2.5}, {0, 3.01, 2.5}}); }), ErrorCode::not_found, {{"index", 1}});
}

INSTANTIATE_TEST_SUITE_P(Backends, SemProbe, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

/// Legendre polynomial of a degree at r, by its recurrence.
double legendre(int degree, double r) {
  double value = 1, before = 0;
  for (int n = 0; n < degree; ++n) {
    const double next = ((2 * n + 1) * r * value - n * before) / (n + 1);
    before = value;
    value = next;
  }
  return value;
}

class SemFilter : public testing::TestWithParam<Backend> {};

TEST_P(SemFilter, MultipliesEachModeByItsFactor) {
  for (const auto& [order, modes, strength] :
       {std::tuple{7, 3, 0.6}, {4, 1, 0.05}, {2, 2, 1.0}, {1, 1, 0.3}, {12, 2, 0.5}, {15, 4, 1.0}}) {
    Space space(Communicator::world(), machine_here(GetParam(), 1), stretched(0.05), order);
    const Rule rule = gauss_lobatto(order);
    const auto n = static_cast<std::size_t>(order) + 1;
    const auto factor = [&, modes = modes, strength = strength, order = order](int k) {
      const double share = k > order - modes ? static_cast<double>(k - (order + 1 - modes) + 1) / modes : 0;
      return 1 - strength * share * share;
    };
    for (const auto& degrees :
         {std::array{0, 0, 0}, {order, 0, 0}, {0, order, order}, {order - 1, 1, 0}, {order, order, order}}) {
      Vector u = space.vector();
      std::vector<std::vector<double>> before(u.size());
      for (std::size_t d = 0; d < u.size(); ++d) {
        for (std::size_t p = 0; p < u[d].size(); ++p)
          before[d].push_back(legendre(degrees[0], rule.points[p % n]) * legendre(degrees[1], rule.points[p / n % n]) *
                              legendre(degrees[2], rule.points[p / (n * n) % n]));
        if (u[d].size()) copy(space.streams()[d], u[d].data(), before[d].data(), u[d].bytes());
        space.streams()[d].synchronize();
      }
      space.filter(u, strength, modes);
      const double whole = factor(degrees[0]) * factor(degrees[1]) * factor(degrees[2]);
      for (std::size_t d = 0; d < u.size(); ++d) {
        const std::vector<double> after = get(space, u, d);
        for (std::size_t p = 0; p < after.size(); ++p) ASSERT_NEAR(after[p], whole * before[d][p], 1e-14) << order;
      }
    }
  }
}

TEST_P(SemFilter, RefusesWhatIsNoFilter) {
  Space space(Communicator::world(), machine_here(GetParam(), 1), stretched(0), 3);
  Vector u = space.vector();
  expect_error(error_of([&] { space.filter(u, 1.5); }), ErrorCode::invalid_argument,
               {{"option", "strength"}, {"given", 1.5}});
  expect_error(error_of([&] { space.filter(u, 0.1, 4); }), ErrorCode::invalid_argument,
               {{"option", "modes"}, {"given", 4}, {"limit", 3}});
}

INSTANTIATE_TEST_SUITE_P(Backends, SemFilter, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace slipstream::sem

// Maps with and without zeros of the Jacobian.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <slipstream/sem.hpp>

#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream::sem {
namespace {

using Formula = std::function<Point(const Point&)>;

ElementBox mapped(std::array<std::int64_t, 3> elements, const Formula& f) {
  ElementBox box;
  box.elements = elements;
  box.map = [f](std::span<const Point> places) {
    std::vector<Point> there;
    for (const Point& x : places) there.push_back(f(x));
    return there;
  };
  return box;
}

std::optional<Error> refused(const ElementBox& box, int order) {
  return error_of([&] { geometry(box, gauss_lobatto(order), 0, box.count(), Factors::stored); });
}

double cube(double x) { return x * x * x; }

TEST(SemShapes, AreRefusedWhereAMapDrawsThemTogetherAtEveryOrder) {
  struct Row {
    const char* where;
    std::array<std::int64_t, 3> elements;
    Formula map;
    int element;
    const char* place;
  };
  const Row rows[] = {
      {"a face",
       {1, 1, 1},
       [](const Point& x) {
         return Point{x[0] * x[0], x[1], x[2]};
       },
       0,
       "(0,"},
      {"the face between two elements",
       {2, 1, 1},
       [](const Point& x) {
         return Point{cube(x[0] - 0.5), x[1], x[2]};
       },
       0,
       "(0,"},
      {"an edge",
       {2, 2, 1},
       [](const Point& x) {
         return Point{x[0] * std::cos(0.5 * std::numbers::pi * x[1]), x[0] * std::sin(0.5 * std::numbers::pi * x[1]),
                      x[2]};
       },
       0,
       "(0, 0"},
      {"a corner",
       {2, 2, 2},
       [](const Point& x) {
         return Point{x[0] * (0.1 * x[0] + x[1] + x[2]), x[1] * (1 + x[0]), x[2] * (1 + x[1])};
       },
       0,
       "(0, 0, 0)"},
      {"the middle",
       {3, 1, 1},
       [](const Point& x) {
         return Point{cube(x[0] - 0.5), x[1], x[2]};
       },
       1,
       "("},
      {"a plane between points",
       {1, 1, 1},
       [](const Point& x) {
         return Point{cube(x[0] - 0.28), x[1], x[2]};
       },
       0,
       "("},
      {"everywhere",
       {1, 1, 1},
       [](const Point& x) {
         return Point{x[0], x[1], x[0] + x[1]};
       },
       0,
       "(0, 0, 0)"},
  };
  for (const Row& row : rows)
    for (int order = least_order; order <= most_order; ++order) {
      SCOPED_TRACE(row.where + std::string(", order ") + std::to_string(order));
      const auto error = refused(mapped(row.elements, row.map), order);
      expect_error(error, ErrorCode::invalid_argument, {{"problem", "no_volume"}, {"element", row.element}});
      EXPECT_EQ(error->fact("place").find(row.place), 0u) << error->fact("place");
    }
}

TEST(SemShapes, AreRefusedWhereAMapFoldsBetweenTheirPoints) {
  // The map folds within a hundredth of an element.
  const auto hook = [](const Point& x) { return Point{cube(x[0] - 0.28) - 3e-5 * x[0], x[1], x[2]}; };
  for (int order = least_order; order <= most_order; ++order) {
    SCOPED_TRACE(order);
    expect_error(refused(mapped({1, 1, 1}, hook), order), ErrorCode::invalid_argument,
                 {{"problem", "inside_out"}, {"element", 0}});
  }
}

TEST(SemShapes, PassWhereTheyAreSoundHoweverThinOrGraded) {
  const auto ring = [](const Point& x) {
    const double angle = 2 * std::numbers::pi * x[1], r = 1 + x[0];
    return Point{r * std::cos(angle), r * std::sin(angle), x[2]};
  };
  const auto thin = [](const Point& x) { return Point{0.6 * x[0] - 0.8e-5 * x[1], 0.8 * x[0] + 0.6e-5 * x[1], x[2]}; };
  const auto graded = [](const Point& x) { return Point{x[0] * (0.01 + x[0]), x[1], x[2]}; };
  const auto far = [](const Point& x) { return Point{1e5 + x[0] + 0.1 * x[1] * x[1], x[1], x[2]}; };
  for (int order = least_order; order <= most_order; ++order) {
    EXPECT_FALSE(refused(mapped({2, 8, 1}, ring), order));
    EXPECT_FALSE(refused(mapped({1, 1, 1}, thin), order));
    EXPECT_FALSE(refused(mapped({1, 1, 1}, graded), order));
    EXPECT_FALSE(refused(mapped({1, 1, 1}, far), order));
    ElementBox bent;
    bent.elements = {4, 4, 4};
    bent.deform = order == 1 ? 0.05 : 0.1;  // elements with straight edges fold at a smaller deformation
    EXPECT_FALSE(refused(bent, order));
  }
}

}  // namespace
}  // namespace slipstream::sem

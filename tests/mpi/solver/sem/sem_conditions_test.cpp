// Conditions of an unknown: sides divided by place.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <slipstream/gather.hpp>
#include <slipstream/sem_solver.hpp>

#include "mpi/solver/sem/each_place.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream::sem {
namespace {

using Of = std::function<double(const Point&, double)>;

Side side_with(Condition condition, const Of& f, bool is_steady = true) { return {condition, {each(f), is_steady}}; }

/// `first` where x < 0 on the outer side of a ring, else `second`.
Side divided(Side first, Side second) {
  first.where = each([](const Point& x, double) { return -x[0]; });
  first.otherwise = {std::move(second)};
  return first;
}

double wavy(const Point& x, double) { return std::sin(x[0] + x[1] - x[2]); }

/// -Lap u = f on a ring round z whose outer side is a wall of given values where x < 0, and elsewhere one of a flux.
Options divided_ring(int order) {
  Options o;
  o.elements = {2, 8, 2};
  o.map = [](std::span<const Point> places) {
    std::vector<Point> there;
    for (const Point& x : places) {
      const double angle = 2 * std::numbers::pi * x[1], r = 1 + x[0];
      there.push_back({r * std::cos(angle), r * std::sin(angle), x[2]});
    }
    return there;
  };
  o.order = order;
  o.krylov.tolerance = 1e-12;
  o.sides[1] = {Side{Condition::periodic}, Side{Condition::periodic}};
  for (Side* side : {&o.sides[0][0], &o.sides[2][0], &o.sides[2][1]}) *side = side_with(Condition::value, wavy);
  const auto flux = [](const Point& x, double) {
    return std::cos(x[0] + x[1] - x[2]) * (x[0] + x[1]) / std::hypot(x[0], x[1]);
  };
  o.sides[0][1] = divided(side_with(Condition::value, wavy), side_with(Condition::flux, flux));
  o.source = {each([](const Point& x, double t) { return 3 * wavy(x, t); })};
  return o;
}

TEST(SemErrors, FallWithEachOrderWhereASideIsDividedByPlace) {
  const Communicator comm = Communicator::world();
  struct Row {
    int order;
    double error;
  };
  std::vector<double> found;
  for (const Row& row : {Row{3, 9e-4}, {4, 1.1e-4}, {5, 1.1e-5}, {6, 1.2e-6}, {7, 1.3e-7}}) {
    SCOPED_TRACE("order " + std::to_string(row.order));
    Options o = divided_ring(row.order);
    // Nobody asks for values where they do not count.
    o.sides[0][1].given.at = [](std::span<const Point> places, double t) {
      for (const Point& x : places) EXPECT_LT(x[0], 1e-9);
      return each(wavy)(places, t);
    };
    Sem sem(comm, machine_here(Backend::host, 1), o);
    sem.advance(1);
    found.push_back(sem.statistics(each(wavy)).distance);
    EXPECT_LT(found.back(), row.error);
    EXPECT_TRUE(sem.cautions().empty());
    if (found.size() > 1) {
      EXPECT_GT(found[found.size() - 2] / found.back(), 6);
    }
  }
}

TEST(SemSolverRefuses, FacesWithoutACondition) {
  Options o = divided_ring(3);
  o.sides[0][1].otherwise[0].where = each([](const Point& x, double) { return x[0] - 1; });
  const auto error = error_of([&] { check(o); });
  expect_error(error, ErrorCode::invalid_argument,
               {{"option", "sides"}, {"side", "x+"}, {"problem", "no_condition"}, {"place", "(0.7654, 1.848, 0.25)"}});
}

class SemBitsOfConditions : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(SemBitsOfConditions, AreThoseOfOneDeviceOnAnyNumberOfDevicesAndRanks) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world(), alone(MPI_COMM_SELF);
  const auto values = [](const Communicator& who, const Machine& machine) {
    Sem sem(who, machine, divided_ring(2));
    sem.advance(1);
    return gather(who, sem.state()["u"], sem.grid().box());
  };
  const auto expected = values(alone, machine_here(backend, 1, 0, alone));
  const auto found = values(comm, machine_here(backend, devices));
  if (comm.rank() == 0) {
    EXPECT_TRUE(found == expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, SemBitsOfConditions,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 4)));

}  // namespace
}  // namespace slipstream::sem

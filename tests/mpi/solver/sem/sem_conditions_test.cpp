// Spectral element solver: boundary conditions on sides of the domain that have several conditions, by place.
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

/// A side with condition `first` where x < 0 on the outer side of a ring, otherwise `second`.
Side divided(Side first, Side second) {
  first.where = each([](const Point& x, double) { return -x[0]; });
  first.otherwise = {std::move(second)};
  return first;
}

double wavy(const Point& x, double) { return std::sin(x[0] + x[1] - x[2]); }

/// Solves -Lap u = f on a ring around z. The outer side has given values where x < 0, and a flux elsewhere.
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
    // The solver evaluates given values only where the condition applies.
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

double conductivity(const Point& x) { return 1 + 0.5 * std::sin(x[0]) * std::cos(x[1]); }
double reaction_of(const Point& x) { return 1 + x[0] * x[2]; }

/// Solves -div(kappa grad u) + c u = f with exact solution wavy(), with Robin conditions kappa du/dn + a u = g.
Options between_transfers(int order, bool varying) {
  Options o;
  o.elements = {4, 4, 4};
  o.deform = 0.1;
  o.order = order;
  o.krylov.tolerance = 1e-12;
  const auto kappa = [=](const Point& x) { return varying ? conductivity(x) : 2; };
  const auto slope = [](const Point& x) { return std::cos(x[0] + x[1] - x[2]); };
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end) {
      const double along = (axis == 2 ? -1 : 1) * (end == 0 ? -1 : 1);
      o.sides[axis][end] = side_with(Condition::flux, [=](const Point& x, double t) {
        return along * kappa(x) * slope(x) + (1 + x[0]) * wavy(x, t);
      });
      o.sides[axis][end].transfer = each([](const Point& x, double) { return 1 + x[0]; });
    }
  if (varying) {
    o.equation = Equation::helmholtz;
    o.diffusivity_at = each([](const Point& x, double) { return conductivity(x); });
    o.reaction_at = each([](const Point& x, double) { return reaction_of(x); });
  } else {
    o.diffusivity = 2;
  }
  o.source = {each([=](const Point& x, double t) {
    const double u = wavy(x, t);
    if (!varying) return 6 * u;
    const double grad_x = 0.5 * std::cos(x[0]) * std::cos(x[1]), grad_y = -0.5 * std::sin(x[0]) * std::sin(x[1]);
    return 3 * conductivity(x) * u - (grad_x + grad_y) * slope(x) + reaction_of(x) * u;
  })};
  return o;
}

TEST(SemErrors, FallWithEachOrderBetweenRobinsConditionsAndOfCoefficientsThatVary) {
  const Communicator comm = Communicator::world();
  struct Row {
    int order;
    double error;
  };
  for (const bool varying : {false, true}) {
    std::vector<double> found;
    for (const Row& row : {Row{3, 1.3e-4}, {4, 1.3e-5}, {5, 1e-6}, {6, 1.3e-7}}) {
      SCOPED_TRACE("order " + std::to_string(row.order) + (varying ? ", varying" : ""));
      Sem sem(comm, machine_here(Backend::host, 1), between_transfers(row.order, varying));
      sem.advance(1);
      found.push_back(sem.statistics(each(wavy)).distance);
      EXPECT_LT(found.back(), row.error);
      EXPECT_LT(sem.effort().last.true_residual, 2e-12);
      if (found.size() > 2) {
        EXPECT_GT(found[found.size() - 3] / found.back(), 80);
      }
    }
  }
}

TEST(SemErrors, AreRoundingOfAConstantBetweenTransfersInTime) {
  Options o;
  o.elements = {2, 2, 2};
  o.order = 3;
  o.equation = Equation::diffusion;
  o.time_step = 0.1;
  const auto constant = [](const Point&, double) { return 7.0; };
  for (auto& axis : o.sides)
    for (Side& side : axis) {
      side = side_with(Condition::flux, [](const Point&, double) { return 3 * 7.0; });
      side.transfer = each([](const Point&, double) { return 3.0; });
    }
  o.initial = each(constant);
  Sem sem(Communicator::world(), machine_here(Backend::host, 1), o);
  sem.advance(3);
  EXPECT_LT(sem.statistics(each(constant)).largest_off, 1e-12);
}

TEST(SemSolverRefuses, CoefficientsThatAreNotPositiveWithElementAndPlace) {
  const Communicator comm = Communicator::world();
  const auto sign = each([](const Point& x, double) { return x[2] > 0.99 && x[0] > 0.99 && x[1] > 0.99 ? -1.0 : 1.0; });
  for (const char* option : {"diffusivity", "reaction", "transfer"}) {
    Options o = between_transfers(2, true);
    o.deform = 0;
    if (option == std::string("diffusivity")) o.diffusivity_at = sign;
    if (option == std::string("reaction")) o.reaction_at = sign;
    if (option == std::string("transfer")) o.sides[0][1].transfer = sign;
    expect_error([&] { Sem sem(comm, machine_here(Backend::host, 1), o); }, ErrorCode::invalid_argument,
                 {{"option", option}, {"element", 63}, {"place", "(1, 1, 1)"}, {"given", -1.0}});
  }
  Options o = between_transfers(2, true);
  o.deform = 0;
  o.factors = Factors::affine;
  expect_error([&] { check(o); }, ErrorCode::unsupported, {{"option", "factors"}, {"other", "diffusivity"}});
}

class SemBitsOfConditions : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(SemBitsOfConditions, AreThoseOfOneDeviceOnAnyNumberOfDevicesAndRanks) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  expect_bits_of_one_device(backend, devices, [](const Communicator& who, const Machine& machine) {
    std::vector<std::byte> all;
    for (const Options& o : {divided_ring(2), between_transfers(2, true)}) {
      Sem sem(who, machine, o);
      sem.advance(1);
      append_fields(who, sem, {"u"}, all);
    }
    return all;
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, SemBitsOfConditions,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 4)));

}  // namespace
}  // namespace slipstream::sem

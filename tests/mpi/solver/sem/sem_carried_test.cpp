// Diffusion with a given velocity: convergence orders in space and time, split steps, bits, the Courant number.
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

Given given_by(std::function<double(const Point&, double)> f, bool is_steady) {
  return {each(std::move(f)), is_steady};
}

TEST(SemSolverTells, CoefficientsOfUnevenStepsThatAreExactForPolynomials) {
  for (const std::array<double, 3>& steps :
       {std::array{0.3, 0.2, 0.5}, std::array{1.0, 1.5, 1.5}, std::array{2., 2., 1.}})
    for (int order = 1; order <= 3; ++order) {
      const Differences d = backward_differences(order, steps);
      const double times[] = {-steps[0], -steps[0] - steps[1], -steps[0] - steps[1] - steps[2]};
      for (int power = 0; power <= order; ++power) {
        const auto f = [&](double t) { return std::pow(1 + t, power); };
        double slope = d.now * f(0), value = 0;
        for (int n = 0; n < order; ++n) {
          slope -= d.before[static_cast<std::size_t>(n)] * f(times[n]);
          value += d.extrapolated[static_cast<std::size_t>(n)] * f(times[n]);
        }
        EXPECT_NEAR(slope / steps[0], power, 1e-13);
        if (power < order) {
          EXPECT_NEAR(value, 1, 1e-13);
        }
      }
    }
  for (int order = 1; order <= 3; ++order) {
    const Differences plain = backward_differences(order), nearly = backward_differences(order, {1, 1 + 1e-12, 1});
    EXPECT_NEAR(plain.now, nearly.now, 1e-11);
    for (std::size_t n = 0; n < 3; ++n) EXPECT_NEAR(plain.before[n], nearly.before[n], 1e-11);
    EXPECT_EQ(backward_differences(order, {0.1, 0.1, 0.1}).now, plain.now);
  }
}

double swell(const Point& x, double t) { return std::sin(4 * t) * (1 + x[0] * x[0] + x[1] * x[2]); }
double speed(double t) { return 1 + 20 * t * t; }

/// Diffusion of a polynomial that elements of order 2 represent, advected by a growing velocity: all error is temporal.
Options swelling_box(int time_order, double time_step, double target) {
  Options o;
  o.elements = {2, 1, 1};
  o.order = 2;
  o.equation = Equation::diffusion;
  o.diffusivity = 0.1;
  o.krylov.tolerance = 1e-13;
  o.time_order = time_order;
  o.time_step = time_step;
  o.target_courant = target;
  o.exact_start = true;
  o.initial = each(swell);
  for (auto& axis : o.sides)
    for (Side& side : axis) side = {Condition::value, given_by(swell, false)};
  o.velocity = {given_by([](const Point&, double t) { return speed(t); }, false),
                given_by([](const Point& x, double t) { return 0.5 * x[0] * speed(t); }, false),
                given_by([](const Point&, double t) { return -0.3 * speed(t); }, false)};
  o.source = given_by(
      [](const Point& x, double t) {
        const double of_time = 4 * std::cos(4 * t) * (1 + x[0] * x[0] + x[1] * x[2]) - 0.1 * 2 * std::sin(4 * t);
        return of_time + speed(t) * std::sin(4 * t) * (2 * x[0] + 0.5 * x[0] * x[2] - 0.3 * x[1]);
      },
      false);
  return o;
}

TEST(SemErrors, OfACarriedSolutionFallByTheOrderInTimeWithFixedAndVariedSteps) {
  const Communicator comm = Communicator::world();
  struct Row {
    int order;
    double error, least;
  };
  for (const double target : {0.0, 0.08})
    for (const Row& row : {Row{1, 3e-2, 0.9}, {2, 3e-3, 1.9}, {3, 2e-4, 2.9}}) {
      SCOPED_TRACE("order " + std::to_string(row.order) + (target > 0 ? ", varied" : ""));
      const auto error = [&](double part) {
        Options o = swelling_box(row.order, 0.016 * part, target * part);
        Sem sem(comm, machine_here(Backend::host, 1), o);
        sem.advance(std::lround(0.4 / o.time_step));
        EXPECT_EQ(sem.effort().solutions > std::lround(0.4 / o.time_step), target > 0);
        return sem.statistics(each(swell)).distance;
      };
      const double coarse = error(0.5), fine = error(0.25);
      EXPECT_LT(coarse, row.error);
      EXPECT_GT(std::log2(coarse / fine), row.least) << coarse << " " << fine;
    }
}

double swirl(const Point& x, double) { return std::sin(x[0] + x[1] - x[2]); }

Options swirling_box(int order, Factors factors) {
  Options o;
  o.elements = {4, 4, 4};
  o.order = order;
  o.factors = factors;
  o.deform = factors == Factors::affine ? 0 : 0.1;
  o.equation = Equation::diffusion;
  o.diffusivity = 0.1;
  o.time_step = 3e-4;
  o.krylov.tolerance = 1e-12;
  o.time_order = 3;
  o.exact_start = true;
  o.initial = each(swirl);
  for (auto& axis : o.sides)
    for (Side& side : axis) side = {Condition::value, given_by(swirl, true)};
  o.velocity = {given_by([](const Point& x, double) { return 0.5 + std::sin(x[1]); }, true),
                given_by([](const Point& x, double) { return std::cos(x[2]); }, true),
                given_by([](const Point& x, double) { return x[0]; }, true)};
  o.source = given_by(
      [](const Point& x, double t) {
        const double along = 0.5 + std::sin(x[1]) + std::cos(x[2]) - x[0];
        return 0.3 * swirl(x, t) + along * std::cos(x[0] + x[1] - x[2]);
      },
      true);
  return o;
}

TEST(SemErrors, OfACarriedSolutionFallTenfoldWithEachOrderOnBentElements) {
  const Communicator comm = Communicator::world();
  std::vector<double> found;
  for (int order = 3; order <= 9; ++order) {
    Sem sem(comm, machine_here(Backend::host, 1), swirling_box(order, Factors::stored));
    sem.advance(10);
    found.push_back(sem.statistics(each(swirl)).distance);
    if (found.size() > 2) {
      EXPECT_GT(found[found.size() - 3] / found.back(), 60) << order;
    }
  }
  EXPECT_LT(found.back(), 1e-10);
}

TEST(SemSolverRefuses, ACourantNumberAboveThatOfTheScheme) {
  const Communicator comm = Communicator::world();
  Options o = swirling_box(4, Factors::affine);
  o.time_step = 0.05;
  const auto error = error_of([&] { Sem sem(comm, machine_here(Backend::host, 1), o); });
  expect_error(error, ErrorCode::not_converged,
               {{"field", "u"}, {"problem", "courant"}, {"element", 15}, {"place", "(1, 1, 0)"}});
  // Expected Courant number at the corner (1, 1, 0): time step times the sum of the velocities 0.5 + sin 1, 1 and 1.
  // It is divided by the smallest distance of points in an element.
  EXPECT_NEAR(std::stod(error->fact("given")),
              0.05 * (0.5 + std::sin(1.0) + 1 + 1) / (0.25 * 0.5 * (1 - std::sqrt(3.0 / 7))), 1e-4);
  EXPECT_NEAR(std::stod(error->fact("limit")), largest_courant(4), 1e-4);
  o.target_courant = 0.3;
  Sem sem(comm, machine_here(Backend::host, 1), o);
  sem.advance(1);
  EXPECT_LT(sem.courant(), 0.3);
  EXPECT_GT(sem.courant(), 0.2);
  o.target_courant = 0.6;
  expect_error([&] { check(o); }, ErrorCode::invalid_argument, {{"option", "target_courant"}});
  o.equation = Equation::helmholtz;
  o.target_courant = 0;
  expect_error([&] { check(o); }, ErrorCode::unsupported, {{"option", "velocity"}});
}

class SemBitsOfCarried : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(SemBitsOfCarried, AreThoseOfOneDeviceOnAnyNumberOfDevicesAndRanks) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  expect_bits_of_one_device(backend, devices, [](const Communicator& who, const Machine& machine) {
    Options o = swelling_box(3, 0.02, 0.04);
    o.elements = {3, 3, 3};
    o.deform = 0.03;
    Sem sem(who, machine, o);
    sem.advance(4);
    std::vector<std::byte> all;
    append_fields(who, sem, {"u", "u1", "u2"}, all);
    return all;
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, SemBitsOfCarried,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 4)));

}  // namespace
}  // namespace slipstream::sem

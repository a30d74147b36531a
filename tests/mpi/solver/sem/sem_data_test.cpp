// Boundary values of the spectral element solver: extension into the box, an added constant, scaling by powers of two.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include <slipstream/gather.hpp>
#include <slipstream/sem_solver.hpp>

#include "mpi/solver/sem/each_place.hpp"
#include "solver/sem/lifting.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream::sem {
namespace {

using At = std::function<double(const Point&, double)>;

/// Values at all points of a vector of the spectral element space, on this rank's first device.
std::vector<double> values_of(Space& space, const Vector& w) {
  std::vector<double> values(w[0].size());
  copy(space.streams()[0], values.data(), w[0].data(), w[0].bytes());
  space.streams()[0].synchronize();
  return values;
}

/// A box whose Dirichlet sides are the bits of `values`, from x- to z+.
Options box_with(int values, const At& given) {
  Options o;
  o.elements = {3, 2, 2};
  o.order = 3;
  o.stretch = {2, 1, 1};
  for (int n = 0; n < 6; ++n) {
    Side& side = o.sides[static_cast<std::size_t>(n / 2)][static_cast<std::size_t>(n % 2)];
    side.condition = values >> n & 1 ? Condition::value : Condition::flux;
    if (side.condition == Condition::value) side.given = {each(given), true};
  }
  return o;
}

TEST(SemLifting, KeepsWhatIsGivenOnSidesAndConstantsEverywhereToTheBit) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  const At bumps = [](const Point& x, double) { return std::exp(x[0] - 2 * x[1]) + std::sin(5 * x[2]); };
  const At constant = [](const Point&, double) { return 0.1; };
  for (int sides = 1; sides < 64; ++sides) {
    SCOPED_TRACE("sides " + std::to_string(sides));
    const Options o = box_with(sides, bumps), even = box_with(sides, constant);
    Space space(comm, machine, box_of(o), o.order);
    Vector w = space.vector();
    const auto extended = [&](const Options& of) {
      const Patches patches = patches_of(space.box(), of.sides);
      Lifting lifting(space, patches, dirichlet_faces(space.box(), patches));
      lifting.take(lifting.mine(0), w);
      return values_of(space, w);
    };
    for (const double value : extended(even)) ASSERT_EQ(value, 0.1);
    const std::vector<double> found = extended(o);
    const Constraint constraint(space, dirichlet_faces(space.box(), patches_of(space.box(), o.sides)));
    const std::vector<double> mask =
        constraint.mask(space.first_element(0), space.first_element(0) + space.elements(0), o.order);
    for (std::size_t p = 0; p < found.size(); ++p) {
      if (mask[p] == 0) {
        ASSERT_EQ(found[p], bumps(space.places(0)[p], 0));
      }
    }
  }
}

TEST(SemLifting, IsTheFunctionItselfWhereThatIsLinearAlongEachAxis) {
  const At linear = [](const Point& x, double) { return 1 + x[0] - 2 * x[1] * x[2] + 3 * x[0] * x[1] * x[2]; };
  const Options o = box_with(63, linear);
  Space space(Communicator::world(), machine_here(Backend::host, 1), box_of(o), o.order);
  Vector w = space.vector();
  const Patches patches = patches_of(space.box(), o.sides);
  Lifting lifting(space, patches, dirichlet_faces(space.box(), patches));
  lifting.take(lifting.mine(0), w);
  const std::vector<double> found = values_of(space, w);
  for (std::size_t p = 0; p < found.size(); ++p) ASSERT_NEAR(found[p], linear(space.places(0)[p], 0), 1e-14);
}

/// Equation and boundary conditions of a test. The exact solution is u = factor ((1 + t) sin(2 pi x + y - z) + shift),
/// with t only for diffusion.
struct Row {
  Equation equation;
  std::array<Condition, 6> sides;
};
constexpr Condition v = Condition::value, q = Condition::flux, p = Condition::periodic;
const Row rows[] = {
    {Equation::poisson, {v, v, v, v, v, v}},   {Equation::poisson, {q, v, q, q, v, q}},
    {Equation::poisson, {p, p, v, v, q, q}},   {Equation::helmholtz, {v, v, v, v, v, v}},
    {Equation::helmholtz, {p, p, v, q, q, v}}, {Equation::helmholtz, {q, q, q, q, q, q}},
    {Equation::diffusion, {v, v, v, v, v, v}}, {Equation::diffusion, {p, p, q, v, q, q}},
    {Equation::diffusion, {p, p, q, q, q, q}},
};
constexpr double kappa = 0.7, reaction = 2;

At solution(Equation equation, double shift, double factor) {
  return [=](const Point& x, double t) {
    const double growth = equation == Equation::diffusion ? 1 + t : 1;
    return factor * (growth * std::sin(2 * std::numbers::pi * x[0] + x[1] - x[2]) + shift);
  };
}

Options problem(const Row& row, double shift, double factor) {
  Options o;
  o.elements = {4, 3, 3};
  o.deform = 0.03;
  o.order = 5;
  o.equation = row.equation;
  o.diffusivity = kappa;
  o.reaction = row.equation == Equation::helmholtz ? reaction : 0;
  o.time_step = 0.01;
  o.krylov.tolerance = 1e-9;
  const bool steady = row.equation != Equation::diffusion;
  const At exact = solution(row.equation, shift, factor);
  const double waves = 4 * std::numbers::pi * std::numbers::pi + 2;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end) {
      Side& side = o.sides[axis][end];
      side.condition = row.sides[2 * axis + end];
      if (side.condition == v) side.given = {each(exact), steady};
      const double slope = (axis == 0 ? 2 * std::numbers::pi : axis == 1 ? 1 : -1) * (end == 0 ? -1 : 1);
      if (side.condition == q)
        side.given = {each([=](const Point& x, double t) {
                        return factor * kappa * slope * (steady ? 1 : 1 + t) *
                               std::cos(2 * std::numbers::pi * x[0] + x[1] - x[2]);
                      }),
                      steady};
    }
  o.source = {each([=](const Point& x, double t) {
                const double sine = std::sin(2 * std::numbers::pi * x[0] + x[1] - x[2]);
                if (!steady) return factor * (1 + kappa * waves * (1 + t)) * sine;
                return factor *
                       (kappa * waves * sine + (row.equation == Equation::helmholtz ? reaction : 0) * (sine + shift));
              }),
              steady};
  if (!steady) o.initial = each(exact);
  return o;
}

std::vector<double> gathered(const Communicator& comm, Sem& sem) {
  const std::vector<std::byte> bytes = gather(comm, sem.state()["u"], sem.grid().box());
  std::vector<double> all(bytes.size() / sizeof(double));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

constexpr std::int64_t steps_of(const Row& row) { return row.equation == Equation::diffusion ? 3 : 1; }

TEST(SemData, OfWhichAConstantIsPartAreSolvedAsWithoutIt) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  for (const Row& row : rows) {
    SCOPED_TRACE("row " + std::to_string(&row - rows));
    constexpr double shift = 1e4;
    Sem plain(comm, machine, problem(row, 0, 1)), shifted(comm, machine, problem(row, shift, 1));
    plain.advance(steps_of(row));
    shifted.advance(steps_of(row));
    EXPECT_NEAR(static_cast<double>(shifted.effort().iterations), static_cast<double>(plain.effort().iterations),
                static_cast<double>(steps_of(row)));
    EXPECT_LT(plain.statistics(each(solution(row.equation, 0, 1))).largest_off, 1e-3);
    const std::vector<double> expected = gathered(comm, plain), found = gathered(comm, shifted);
    double off = 0;
    for (std::size_t n = 0; n < found.size(); ++n) off = std::max(off, std::abs(found[n] - shift - expected[n]));
    EXPECT_LT(off, 1e-14 * shift);
  }
}

TEST(SemData, ThatAreOneConstantNeedNoIteration) {
  const Communicator comm = Communicator::world();
  const At constant = [](const Point&, double) { return 0.3; };
  for (const Equation equation : {Equation::poisson, Equation::diffusion}) {
    Options o = box_with(equation == Equation::poisson ? 0b010010 : 0b000100, constant);
    o.deform = 0.02;
    o.equation = equation;
    if (equation == Equation::diffusion) o.initial = each(constant);
    Sem sem(comm, machine_here(Backend::host, 1), o);
    sem.advance(1);
    EXPECT_EQ(sem.effort().iterations, 0);
    for (const double value : gathered(comm, sem)) ASSERT_EQ(value, 0.3);
  }
}

TEST(SemData, TimesAPowerOfTwoGiveTheSameBitsScaled) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  for (const Row& row : rows) {
    SCOPED_TRACE("row " + std::to_string(&row - rows));
    const auto solved = [&](int exponent) {
      const double factor = std::scalbn(1.0, exponent);
      Sem sem(comm, machine, problem(row, 0.5, factor));
      sem.advance(steps_of(row));
      const Statistics s = sem.statistics(each(solution(row.equation, 0.5, factor)));
      std::vector<double> all = gathered(comm, sem);
      for (const double value :
           {s.mean, s.least, s.largest, s.largest_off, row.equation == Equation::diffusion ? sem.largest_change() : 0})
        all.push_back(value);
      for (double& value : all) value = std::scalbn(value, -exponent);
      all.push_back(s.distance);
      all.push_back(static_cast<double>(sem.effort().iterations));
      return all;
    };
    const std::vector<double> expected = solved(0);
    EXPECT_GT(expected[expected.size() - 2], 0);
    for (const int exponent : {-700, -301, 700}) EXPECT_TRUE(solved(exponent) == expected) << "2^" << exponent;
  }
}

TEST(SemData, BeyondWhatNumbersHoldAreRefused) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  for (const Row& row : rows)
    for (const int exponent : {-1000, -850, 850, 1010}) {
      SCOPED_TRACE("row " + std::to_string(&row - rows) + ", 2^" + std::to_string(exponent));
      expect_error([&] { Sem sem(comm, machine, problem(row, 0.5, std::scalbn(1.0, exponent))); },
                   ErrorCode::not_converged, {{"field", "u"}, {"problem", exponent < 0 ? "too_small" : "too_large"}});
    }
}

}  // namespace
}  // namespace slipstream::sem

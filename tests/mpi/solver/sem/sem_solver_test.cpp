// The spectral element solver: convergence orders in space and time, bits on any number of devices, invalid options.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include <slipstream/gather.hpp>
#include <slipstream/sem_solver.hpp>
#include <slipstream/vtkhdf_hexahedra.hpp>

#include "mpi/solver/sem/each_place.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream::sem {
namespace {

Given steady(std::function<double(const Point&, double)> f) { return {each(std::move(f)), true}; }
Given unsteady(std::function<double(const Point&, double)> f) { return {each(std::move(f)), false}; }

void set_all_sides(Options& options, const Side& side) {
  for (auto& axis : options.sides) axis = {side, side};
}

double smooth(const Point& x, double) { return std::sin(x[0] + x[1] - x[2]); }

TEST(SemErrors, FallTenfoldWithEachOrderOnDeformedElements) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  struct Row {
    int order;
    double error;
  };
  std::vector<double> found;
  for (const Row& row : {Row{3, 8e-5}, {4, 8e-6}, {5, 7e-7}, {6, 9e-8}, {7, 7e-9}}) {
    SCOPED_TRACE("order " + std::to_string(row.order));
    Options o;
    o.elements = {4, 4, 4};
    o.deform = 0.1;
    o.order = row.order;
    o.krylov.tolerance = 1e-12;
    set_all_sides(o, {Condition::value, steady(smooth)});
    o.source = steady([](const Point& x, double t) { return 3 * smooth(x, t); });
    Sem sem(comm, machine, o);
    sem.advance(1);
    found.push_back(sem.statistics(each(smooth)).distance);
    EXPECT_LT(found.back(), row.error);
    EXPECT_LT(sem.effort().last.true_residual, 2e-12);
    // Errors are compared between orders N and N + 2: the map of the mesh is odd, so odd orders are more accurate.
    if (found.size() > 2) {
      EXPECT_GT(found[found.size() - 3] / found.back(), 90);
    }
  }
}

TEST(SemErrors, OfHighOrdersFallOnBentElements) {
  const Communicator comm = Communicator::world();
  const auto u = [](const Point& x, double) { return std::exp(x[0] + 2 * x[1]) * std::sin(3 * x[2]); };
  for (const auto& [order, error] : {std::pair{9, 5e-7}, {15, 4e-11}}) {
    SCOPED_TRACE("order " + std::to_string(order));
    Options o;
    o.elements = {2, 2, 2};
    o.deform = 0.05;
    o.order = order;
    o.krylov.tolerance = 1e-13;
    o.solver.preconditioner = Preconditioner::schwarz;
    set_all_sides(o, {Condition::value, steady(u)});
    o.source = steady([u](const Point& x, double t) { return 4 * u(x, t); });
    Sem sem(comm, machine_here(Backend::host, 1), o);
    sem.advance(1);
    EXPECT_LT(sem.statistics(each(u)).distance, error);
  }
}

/// Poisson's equation with the exact solution's fluxes on all sides, which stay plane although elements are deformed.
Options between_fluxes(int order) {
  Options o;
  o.elements = {4, 4, 4};
  o.deform = 0.1;
  o.order = order;
  o.krylov.tolerance = 1e-12;
  o.source = steady([](const Point& x, double t) { return 3 * smooth(x, t); });
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end) {
      const double slope = (axis == 2 ? -1 : 1) * (end == 0 ? -1 : 1);
      o.sides[axis][end] = {Condition::flux,
                            steady([=](const Point& x, double) { return slope * std::cos(x[0] + x[1] - x[2]); })};
    }
  return o;
}

TEST(SemErrors, FallWithEachOrderBetweenFluxesThatTheQuadratureDoesNotBalance) {
  const Communicator comm = Communicator::world();
  struct Row {
    int order;
    double error;
    bool told;
  };
  std::vector<double> found;
  for (const Row& row : {Row{2, 1.4e-3, true}, {3, 1.3e-4, false}, {4, 1.3e-5, false}, {5, 1e-6, false}}) {
    SCOPED_TRACE("order " + std::to_string(row.order));
    Sem sem(comm, machine_here(Backend::host, 1), between_fluxes(row.order));
    sem.advance(1);
    found.push_back(sem.statistics(each(smooth)).distance);
    EXPECT_LT(found.back(), row.error);
    EXPECT_LT(sem.effort().last.true_residual, 2e-12);
    if (found.size() > 1) {
      EXPECT_GT(found[found.size() - 2] / found.back(), 7);
    }
    EXPECT_EQ(sem.cautions().size(), row.told ? 1u : 0u);
    if (!sem.cautions().empty()) {
      EXPECT_NE(sem.cautions().front().find("source and fluxes sum to zero, but"), std::string::npos);
    }
  }
}

TEST(SemSolverRefuses, ASourceAndFluxesThatDoNotBalanceAtAnyOrder) {
  const Communicator comm = Communicator::world();
  for (const int order : {2, 3, 4, 7}) {
    Options o = between_fluxes(order);
    o.sides[2][1].given = steady([](const Point& x, double) { return 0.05 - std::cos(x[0] + x[1] - x[2]); });
    SCOPED_TRACE(order);
    const auto error = error_of([&] { Sem sem(comm, machine_here(Backend::host, 1), o); });
    expect_error(error, ErrorCode::not_converged, {{"field", "u"}, {"problem", "imbalance"}});
    EXPECT_NEAR(std::stod(error->fact("change")), -0.05, 0.001);
    EXPECT_NEAR(std::stod(error->fact("source")) + std::stod(error->fact("fluxes")), 0.05, 0.001);
  }
}

Map map_each(std::function<Point(const Point&)> f) {
  return [f = std::move(f)](std::span<const Point> places) {
    std::vector<Point> there;
    for (const Point& x : places) there.push_back(f(x));
    return there;
  };
}

/// Maps a box to a ring of radius 1 to 2, closed along y, whose ends along z are slanted.
Point ring(const Point& x) {
  const double angle = 2 * std::numbers::pi * x[1], r = 1 + x[0];
  return {r * std::cos(angle), r * std::sin(angle), x[2] + 0.1 * r};
}

TEST(SemErrors, FallWithEachOrderOnARingThatAFormulaMaps) {
  const Communicator comm = Communicator::world();
  struct Row {
    int order;
    double error;
  };
  std::vector<double> found;
  for (const Row& row : {Row{3, 9e-4}, {4, 1.1e-4}, {5, 1.1e-5}, {6, 1.2e-6}, {7, 1.3e-7}}) {
    SCOPED_TRACE("order " + std::to_string(row.order));
    Options o;
    o.elements = {2, 8, 1};
    o.map = map_each(ring);
    o.order = row.order;
    o.krylov.tolerance = 1e-12;
    set_all_sides(o, {Condition::value, steady(smooth)});
    o.sides[1] = {Side{Condition::periodic, {}}, Side{Condition::periodic, {}}};
    // The flux through the outer side is grad u . n with n along (x, y).
    o.sides[0][1] = {Condition::flux, steady([](const Point& x, double) {
                       return std::cos(x[0] + x[1] - x[2]) * (x[0] + x[1]) / std::hypot(x[0], x[1]);
                     })};
    o.source = steady([](const Point& x, double t) { return 3 * smooth(x, t); });
    Sem sem(comm, machine_here(Backend::host, 1), o);
    sem.advance(1);
    const Statistics s = sem.statistics(each(smooth));
    found.push_back(s.distance);
    EXPECT_LT(found.back(), row.error);
    EXPECT_NEAR(s.volume / (3 * std::numbers::pi), 1, found.back());
    if (found.size() > 1) {
      EXPECT_GT(found[found.size() - 2] / found.back(), 7);
    }
  }
}

/// Exact solution: a polynomial that elements of order 2 represent exactly, times a function of time. All error is
/// temporal.
double breathing(const Point& x, double t) { return std::sin(4 * t) * (1 + x[0] * x[0] + x[1] * x[2]); }

Options breathing_box(int time_order, double time_step, bool exact_start) {
  Options o;
  o.elements = {2, 1, 1};
  o.order = 2;
  o.equation = Equation::diffusion;
  o.diffusivity = 0.1;
  o.krylov.tolerance = 1e-13;
  o.time_order = time_order;
  o.time_step = time_step;
  o.exact_start = exact_start;
  o.initial = each(breathing);
  set_all_sides(o, {Condition::value, unsteady(breathing)});
  // The side x+ has a given flux kappa du/dn.
  o.sides[0][1] = {Condition::flux, unsteady([](const Point&, double t) { return 0.1 * 2 * std::sin(4 * t); })};
  o.source = unsteady([](const Point& x, double t) {
    return 4 * std::cos(4 * t) * (1 + x[0] * x[0] + x[1] * x[2]) - 0.1 * 2 * std::sin(4 * t);
  });
  return o;
}

double error_in_time(int time_order, double time_step, bool exact_start) {
  const Communicator comm = Communicator::world();
  Sem sem(comm, machine_here(Backend::host, 1), breathing_box(time_order, time_step, exact_start));
  sem.advance(std::lround(0.4 / time_step));
  return sem.statistics(each(breathing)).distance;
}

TEST(SemErrors, FallByTheOrderOfTheBackwardDifferences) {
  struct Row {
    int order;
    double error, least, most;
  };
  for (const Row& row : {Row{1, 2.2e-2, 1.9, 2.1}, {2, 2e-3, 3.8, 4.2}, {3, 1e-4, 7.5, 8.5}}) {
    SCOPED_TRACE("order " + std::to_string(row.order));
    const double coarse = error_in_time(row.order, 0.02, true), fine = error_in_time(row.order, 0.01, true);
    EXPECT_LT(coarse, row.error);
    EXPECT_GT(coarse / fine, row.least);
    EXPECT_LT(coarse / fine, row.most);
  }
}

TEST(SemErrors, OfAStartByLowerOrdersFallByTwoOrdersAtLeast) {
  for (const int order : {2, 3}) {
    const double coarse = error_in_time(order, 0.02, false), fine = error_in_time(order, 0.01, false);
    EXPECT_GT(coarse / fine, 3.5) << order;
  }
}

TEST(SemErrors, AreRoundingWhereThePolynomialsHoldTheSolution) {
  const Communicator comm = Communicator::world();
  const auto exact = [](const Point& x, double) { return x[0] * x[0] - x[1] * x[2] + x[2]; };
  for (const Factors factors : {Factors::stored, Factors::affine}) {
    Options o;
    o.elements = {2, 2, 1};
    o.lengths = {2, 1, 0.5};
    o.stretch = {3, 1, 1};
    o.order = 2;
    o.factors = factors;
    o.equation = Equation::helmholtz;
    o.diffusivity = 0.7;
    o.reaction = 2;
    o.krylov.tolerance = 1e-14;
    o.krylov.must_converge = false;
    o.krylov.most_iterations = 100;
    set_all_sides(o, {Condition::value, steady(exact)});
    o.sides[2][0] = {Condition::flux, steady([](const Point& x, double) { return -0.7 * (1 - x[1]); })};
    o.sides[0][1] = {Condition::flux, steady([](const Point& x, double) { return 0.7 * 2 * x[0]; })};
    o.source = steady([&](const Point& x, double t) { return 2 * exact(x, t) - 0.7 * 2; });
    Sem sem(comm, machine_here(Backend::host, 1), o);
    sem.advance(1);
    EXPECT_LT(sem.statistics(each(exact)).largest_off, 1e-12);
    EXPECT_NEAR(sem.statistics().volume, 1.0, 1e-13);
  }
}

TEST(SemErrors, AreTheSameWithFewerIterationsByChebyshevsPolynomial) {
  const Communicator comm = Communicator::world();
  const auto solved = [&](Equation equation, Preconditioner preconditioner, int degree) {
    Options o;
    o.elements = {3, 3, 3};
    o.deform = 0.1;
    o.order = 4;
    o.equation = equation;
    o.krylov.tolerance = 1e-11;
    o.solver.preconditioner = preconditioner;
    o.solver.degree = degree;
    // If all sides have fluxes, the operator has a null space; the cosine is symmetric about all sides.
    const auto waves = [](const Point& x, double) { return std::cos(std::numbers::pi * x[0]); };
    set_all_sides(o, {Condition::flux, {}});
    if (equation == Equation::helmholtz) o.reaction = 3;
    o.source = steady([=](const Point& x, double t) {
      return (std::numbers::pi * std::numbers::pi + (equation == Equation::helmholtz ? 3 : 0)) * waves(x, t);
    });
    Sem sem(comm, machine_here(Backend::host, 1), o);
    sem.advance(1);
    return std::pair{sem.effort().iterations, sem.statistics(each(waves)).distance};
  };
  for (const Equation equation : {Equation::poisson, Equation::helmholtz}) {
    const auto [jacobi, error] = solved(equation, Preconditioner::jacobi, 1);
    EXPECT_LT(error, 1e-2);
    for (const int degree : {1, 4}) {
      const auto [iterations, same] = solved(equation, Preconditioner::chebyshev, degree);
      EXPECT_NEAR(same, error, 1e-8);
      EXPECT_LT(iterations * degree, 1.3 * static_cast<double>(jacobi)) << degree;
    }
  }
}

/// Options with four blocks of elements, history, time-dependent values and fluxes, and a periodic axis.
Options busy_box() {
  Options o;
  o.elements = {5, 5, 8};
  o.order = 2;
  o.deform = 0.03;
  o.equation = Equation::diffusion;
  o.diffusivity = 0.2;
  o.time_step = 0.05;
  o.time_order = 3;
  o.krylov.tolerance = 1e-8;
  o.solver.preconditioner = Preconditioner::chebyshev;
  o.solver.degree = 3;
  o.sides[0] = {Side{Condition::periodic, {}}, Side{Condition::periodic, {}}};
  o.sides[1][0].given = unsteady([](const Point& x, double t) { return t * std::cos(2 * std::numbers::pi * x[0]); });
  o.sides[2][1] = {Condition::flux, unsteady([](const Point& x, double t) { return t + x[1]; })};
  o.source = steady([](const Point& x, double) { return std::exp(x[1] - x[2]); });
  o.initial = each([](const Point& x, double) { return std::sin(2 * std::numbers::pi * x[0]) * x[2]; });
  return o;
}

class SemScalars : public testing::TestWithParam<std::tuple<Backend, int>> {};

/// Options with three scalars: two share an operator, and thus a solve; the third has another diffusivity and other
/// sides.
TEST_P(SemScalars, HaveTheBitsOfRunsOfEachAloneOnOneDevice) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  Options all = busy_box();
  all.velocity[1] = steady([](const Point& x, double) { return 0.1 * x[2]; });
  Scalar alike = all, other = all;
  alike.name = "alike";
  alike.source = {};
  alike.sides[2][1].given = unsteady([](const Point& x, double t) { return t * t - x[1]; });
  alike.sides[1][0].given = steady([](const Point&, double) { return 0.5; });
  other.name = "other";
  other.diffusivity = 0.03;
  other.sides[1][1] = {Condition::flux, {}};
  other.initial = {};
  all.more = {alike, other};
  const Communicator comm = Communicator::world(), alone(MPI_COMM_SELF);
  const auto fields = [](const Communicator& who, Sem& sem, const std::string& name) {
    std::vector<std::byte> bytes;
    append_fields(who, sem, {name, name + "1", name + "2"}, bytes);
    return bytes;
  };
  Sem together(comm, machine_here(backend, devices), all);
  together.advance(4);
  EXPECT_EQ(together.watched().size(), 3u);
  for (std::size_t n = 0; n < 3; ++n) {
    Options one = all;
    static_cast<Scalar&>(one) = scalars_of(all)[n];
    one.more.clear();
    Sem single(alone, machine_here(backend, 1, 0, alone), one);
    single.advance(4);
    const std::vector<std::byte> expected = fields(alone, single, one.name), found = fields(comm, together, one.name);
    if (comm.rank() == 0) {
      EXPECT_TRUE(found == expected) << one.name;
    }
    EXPECT_EQ(together.effort(n).iterations, single.effort().iterations) << one.name;
    EXPECT_EQ(together.effort(n).solutions, 4);
    EXPECT_EQ(together.statistics({}, n).largest, single.statistics().largest) << one.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, SemScalars,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2)));

TEST(SemScalarsRefuse, NamesThatMeetSidesThatDoNotFitAndWhatDoesNotConverge) {
  Options all = busy_box();
  Scalar one = all;
  one.name = "u1";
  all.more = {one};
  expect_error(error_of([&] { check(all); }), ErrorCode::invalid_argument, {{"option", "name"}, {"scalar", "u1"}});
  all.more[0].name = "v";
  all.more[0].sides[0] = {Side{}, Side{}};
  expect_error(error_of([&] { check(all); }), ErrorCode::unsupported, {{"problem", "periodic"}, {"scalar", "v"}});
  all.more[0].sides = all.sides;
  all.more[0].diffusivity = 0;
  expect_error(error_of([&] { check(all); }), ErrorCode::invalid_argument,
               {{"option", "diffusivity"}, {"scalar", "v"}});
  all.more[0].diffusivity = all.diffusivity;
  all.krylov.most_iterations = all.more[0].krylov.most_iterations = 2;
  expect_error(error_of([&] { Sem(Communicator::world(), machine_here(Backend::host, 1), all).advance(1); }),
               ErrorCode::not_converged, {{"field", "scalars at step 1, component u"}});
}

class SemBits : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(SemBits, AreThoseOfOneDeviceOnAnyNumberOfDevicesAndRanks) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world(), alone(MPI_COMM_SELF);
  const auto values = [](const Communicator& who, const Machine& machine, bool closed) {
    Options box = busy_box();
    // Without a Dirichlet side the solution has the mean zero, so the mean is subtracted.
    if (closed)
      for (std::size_t n = 2; n < 6; ++n) box.sides[n / 2][n % 2] = {Condition::flux, box.sides[2][1].given};
    box.map = map_each([](const Point& x) {
      return Point{x[0] + 0.1 * std::sin(3 * x[1]), x[1], x[2] * (1 + 0.2 * x[1])};
    });
    Sem sem(who, machine, box);
    sem.advance(4);
    std::vector<std::byte> all;
    for (const char* name : {"u", "u1", "u2"}) {
      const std::vector<std::byte> one = gather(who, sem.state()[name], sem.grid().box());
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  };
  for (const bool closed : {false, true}) {
    const auto expected = values(alone, machine_here(backend, 1, 0, alone), closed);
    const auto found = values(comm, machine_here(backend, devices), closed);
    if (comm.rank() != 0) continue;
    EXPECT_TRUE(found == expected) << (closed ? "closed" : "with Dirichlet sides");
    EXPECT_EQ(found.size(), 3 * 200 * 27 * sizeof(double));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, SemBits,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 4)));

TEST(SemSolverRefuses, WhatHasNoSolution) {
  const Communicator comm = Communicator::world();
  Options o;
  o.elements = {2, 2, 2};
  o.order = 3;
  set_all_sides(o, {Condition::flux, {}});
  o.source = steady([](const Point&, double) { return 1.0; });
  const Machine machine = machine_here(Backend::host, 1);
  expect_error([&] { Sem sem(comm, machine, o); }, ErrorCode::not_converged,
               {{"field", "u"}, {"problem", "imbalance"}});
  o.sides[0][0] = {Condition::value, steady([](const Point&, double) { return 1.0; })};
  o.krylov.most_iterations = 12;
  Sem sem(comm, machine, o);
  expect_error([&] { sem.advance(1); }, ErrorCode::not_converged,
               {{"field", "u at step 1"}, {"iterations", 12}, {"problem", "falls"}});
  o.krylov.must_converge = false;
  Sem goes_on(comm, machine, o);
  goes_on.advance(1);
  EXPECT_EQ(goes_on.effort().unconverged, 1);
  o.order = most_order + 1;
  expect_error([&] { check(o); }, ErrorCode::invalid_argument, {{"option", "order"}, {"given", most_order + 1}});
  o.order = 3;
  o.sides[1][0].condition = Condition::periodic;
  expect_error([&] { check(o); }, ErrorCode::unsupported,
               {{"option", "sides"}, {"axis", "y"}, {"problem", "periodic"}});
}

TEST(SemSolverTells, WhatKeepsASolutionFromConverging) {
  const Communicator comm = Communicator::world();
  Options o;
  o.elements = {3, 3, 3};
  o.order = 3;
  o.source = steady([](const Point& x, double) { return x[0] < 0.5 ? 1.0 : -1.0; });
  const auto told = [&](double stretch, double tolerance, int iterations) {
    o.stretch = {stretch, 1, 1};
    o.krylov.tolerance = tolerance;
    o.krylov.most_iterations = iterations;
    Sem sem(comm, machine_here(Backend::host, 1), o);
    return error_of([&] { sem.advance(1); });
  };
  const auto expect_told = [&](double stretch, double tolerance, int iterations, const char* cause) {
    expect_error(told(stretch, tolerance, iterations), ErrorCode::not_converged,
                 {{"iterations", iterations}, {"problem", cause}});
  };
  expect_told(1, 1e-9, 20, "falls");
  expect_told(1e4, 1e-9, 4, "hard");
  // The recurrence's residual falls without limit; the true residual b - A x does not.
  expect_told(1, 1e-300, 300, "rounding");
  o.krylov.tolerance = 1e-18;
  o.krylov.most_iterations = 1000;
  Sem sem(comm, machine_here(Backend::host, 1), o);
  sem.advance(1);
  EXPECT_EQ(sem.effort().unconverged, 0);
  EXPECT_EQ(sem.effort().rounded, 1);
}

TEST(SemSolverTells, WhatChebyshevsPolynomialAddsToAPlan) {
  const Machine machine = machine_here(Backend::host, 1);
  Options o;
  o.elements = {2, 2, 2};
  o.order = 3;
  const auto needed = [&] {
    std::int64_t bytes = 0;
    for (const ArrayBytes& array : memory_needed(machine, o)) bytes += array.bytes;
    return bytes;
  };
  const std::int64_t jacobi = needed(), points = 8 * 64;
  EXPECT_EQ(bytes_per_point(o), 64 + 18 + 88);
  o.solver.preconditioner = Preconditioner::chebyshev;
  EXPECT_EQ(needed() - jacobi, 3 * 8 * points);
  o.solver.degree = 1;
  EXPECT_EQ(bytes_per_point(o), 64 + 18 + 88 + 56);
  o.solver.degree = 4;
  EXPECT_EQ(bytes_per_point(o), 4 * (64 + 18) + 88 + 56 + 3 * 56);
}

TEST(SemSolverTells, OfValuesThatDifferWhereSidesMeet) {
  const Communicator comm = Communicator::world();
  Options o;
  o.elements = {2, 2, 2};
  o.order = 2;
  set_all_sides(o, {Condition::value, {}});
  for (std::size_t end = 0; end < 2; ++end) o.sides[1][end].given = steady([](const Point&, double) { return 1.0; });
  o.sides[0][0].given = steady([](const Point& x, double) { return x[1]; });
  Sem sem(comm, machine_here(Backend::host, 1), o);
  sem.advance(1);
  ASSERT_EQ(sem.cautions().size(), 1u);
  EXPECT_NE(sem.cautions().front().find("the sides x- and y- have 0 and 1 at (0, 0, 0)"), std::string::npos);
}

TEST(SemSolverTells, OfASideOfZeroBesideAnotherHoweverItIsGiven) {
  const Communicator comm = Communicator::world();
  std::vector<std::vector<std::byte>> found;
  for (const Given& zero : {Given{}, steady([](const Point&, double) { return 0.0; })}) {
    Options o;
    o.elements = {2, 2, 2};
    o.order = 2;
    set_all_sides(o, {Condition::flux, {}});
    o.sides[0][0] = {Condition::value, steady([](const Point&, double) { return 1.0; })};
    o.sides[1][0] = {Condition::value, zero};
    Sem sem(comm, machine_here(Backend::host, 1), o);
    sem.advance(1);
    ASSERT_EQ(sem.cautions().size(), 1u);
    EXPECT_NE(sem.cautions().front().find("the sides x- and y- have 1 and 0 at (0, 0, 0)"), std::string::npos);
    found.push_back(gather(comm, sem.state()["u"], sem.grid().box()));
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(SemSolverTells, TheLargestChangeOfAStep) {
  const Communicator comm = Communicator::world();
  Sem sem(comm, machine_here(Backend::host, 2), busy_box());
  sem.advance(3);
  const auto values = [&](const char* name) {
    const std::vector<std::byte> bytes = gather(comm, sem.state()[name], sem.grid().box());
    std::vector<double> all(bytes.size() / sizeof(double));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  };
  const std::vector<double> now = values("u"), before = values("u1");
  double largest = 0;
  for (std::size_t p = 0; p < now.size(); ++p) largest = std::max(largest, std::abs(now[p] - before[p]));
  const double change = sem.largest_change();
  if (comm.rank() == 0) {
    EXPECT_GT(change, 0);
    EXPECT_EQ(change, largest / sem.options().time_step);
  }
}

TEST(SemSolverTells, InWhichElementAValueIsNoNumber) {
  const Communicator comm = Communicator::world();
  Sem sem(comm, machine_here(Backend::host, 1), busy_box());
  GuardOptions every;
  every.every = 1;
  sem.guard(every);
  sem.advance(1);
  // Element 7 is the third along x and the second along y; its point 1 is the midpoint of an edge.
  const double none = std::nan("");
  sem.state()["u"].write({{1, 7, 0}, {2, 8, 1}}, &none);
  try {
    sem.inspect();
    FAIL() << "nothing was found";
  } catch (const Diverged& error) {
    expect_error(Error(error), ErrorCode::diverged,
                 {{"quantity", "u"},
                  {"value", std::nan("")},
                  {"step", 1},
                  {"rank", 0},
                  {"element", 7},
                  {"place", "(0.5, 0.2, 0)"}});
  }
}

TEST(LagrangeHexahedra, HaveEachNodeOnceWithCornersFirst) {
  EXPECT_EQ(vtk_hexahedron_nodes(1), (std::vector<std::int64_t>{0, 1, 3, 2, 4, 5, 7, 6}));
  // Order of nodes in VTK's quadratic hexahedron: corners, edges (lower face, upper face, along z), faces, centre.
  const std::vector<std::int64_t> two{0,  2,  8, 6,  18, 20, 26, 24, 1,  5,  7, 3,  19, 23,
                                      25, 21, 9, 11, 17, 15, 12, 14, 10, 16, 4, 22, 13};
  EXPECT_EQ(vtk_hexahedron_nodes(2), two);
  for (const int order : {3, 7, 11}) {
    std::vector<std::int64_t> nodes = vtk_hexahedron_nodes(order);
    std::sort(nodes.begin(), nodes.end());
    const std::int64_t count = std::int64_t{order + 1} * (order + 1) * (order + 1);
    ASSERT_EQ(static_cast<std::int64_t>(nodes.size()), count);
    for (std::int64_t n = 0; n < count; ++n) EXPECT_EQ(nodes[static_cast<std::size_t>(n)], n);
  }
}

}  // namespace
}  // namespace slipstream::sem

// Poisson's equation on spectral elements with any number of devices and ranks: convergence orders and bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include <slipstream/sem.hpp>

#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/sem_rig.hpp"

namespace slipstream::sem {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

/// Exact solution of -Lap u = 3 (2 pi)^2 u, zero on the sides of the unit cube, with mean zero.
double wave(const Point& x) { return std::sin(two_pi * x[0]) * std::sin(two_pi * x[1]) * std::sin(two_pi * x[2]); }

ElementBox cube(std::int64_t n, bool periodic, double deform = 0.1) {
  ElementBox box;
  box.elements = {n, n, n};
  box.periodic = {periodic, periodic, periodic};
  box.deform = deform;
  return box;
}

void put(Space& space, Vector& vector, double (*f)(const Point&), double scale = 1) {
  for (std::size_t d = 0; d < vector.size(); ++d) {
    std::vector<double> values;
    for (const Point& x : space.places(d)) values.push_back(scale * f(x));
    if (!values.empty()) copy(space.streams()[d], vector[d].data(), values.data(), vector[d].bytes());
    space.streams()[d].synchronize();
  }
}

struct Solved {
  double error = 0;  ///< maximum error at a point
  krylov::Result result;
  std::uint64_t bits = 0;  ///< hash of all values, in the order of the elements
};

/// Solves Poisson's equation for a right side times 2^exponent; hashes the bits of the solution divided by 2^exponent.
Solved poisson(const Communicator& comm, const Machine& machine, const ElementBox& box, int order, double h2,
               const krylov::Options& options = {}, Factors factors = Factors::stored, int exponent = 0,
               const SolverOptions& how = {}) {
  Space space(comm, machine, box, order, {factors, false, {}});
  Vector f = space.vector(), b = space.vector(), x = space.vector();
  put(space, f, wave, std::ldexp(3 * two_pi * two_pi + h2, exponent));
  Constraint constraint(space);
  space.mass(f, b);
  constraint.assemble(b);
  Solved solved;
  solved.result = HelmholtzSolver(space, constraint, how).solve(b, x, 1, h2, options);
  std::uint64_t bits = 0;
  for (std::size_t d = 0; d < x.size(); ++d) {
    std::vector<double> values = get(space, x, d);
    for (double& value : values) value = std::ldexp(value, -exponent);
    const std::int64_t first = space.first_element(d) * space.points_per_element();
    for (std::size_t p = 0; p < values.size(); ++p) {
      solved.error = std::max(solved.error, std::abs(values[p] - wave(space.places(d)[p])));
      std::uint64_t word = 0;
      std::memcpy(&word, &values[p], sizeof word);
      bits += (word ^ (word >> 29)) * (2 * static_cast<std::uint64_t>(first + static_cast<std::int64_t>(p)) + 1);
    }
  }
  solved.error = comm.max(solved.error);
  for (const std::int64_t part : comm.all_gather(static_cast<std::int64_t>(bits)))
    solved.bits += static_cast<std::uint64_t>(part);
  return solved;
}

class PoissonOn : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(PoissonOn, DeformedElementsHasAnErrorThatFallsByTheOrder) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, devices);
  struct Row {
    int order;
    double error;
  };
  for (const bool periodic : {false, true}) {
    double before = 0, two_before = 0;
    for (const Row& row : {Row{5, 1.15e-3}, {6, 4e-4}, {7, 8e-5}, {8, 1.4e-5}}) {
      const Solved solved = poisson(comm, machine, cube(4, periodic), row.order, 0, {.tolerance = 1e-11});
      SCOPED_TRACE("order " + std::to_string(row.order) + (periodic ? ", periodic" : ", Dirichlet"));
      EXPECT_LT(solved.error, row.error);
      EXPECT_LT(solved.result.true_residual, 1e-10);
      // Convergence is measured over two orders, because even and odd orders differ.
      if (two_before > 0) {
        EXPECT_GT(two_before / solved.error, 13);
      }
      two_before = std::exchange(before, solved.error);
    }
  }
}

TEST_P(PoissonOn, HelmholtzsEquationIsSolvedToo) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  const Solved solved = poisson(comm, machine_here(backend, devices), cube(4, true, 0), 7, 100, {.tolerance = 1e-11});
  EXPECT_LT(solved.error, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Backends, PoissonOn, testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1)));

class PoissonBits : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(PoissonBits, AreThoseOfOneDeviceOnAnyNumberOfDevicesAndRanks) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world(), alone(MPI_COMM_SELF);
  if (comm.size() * devices > 8) GTEST_SKIP() << "no more is shown by more devices";
  const Machine one = machine_here(backend, 1, 0, alone), all = machine_here(backend, devices);
  const auto compare = [&](const ElementBox& box, Factors factors) {
    SCOPED_TRACE(to_string(factors) + (box.periodic[0] ? ", periodic" : ""));
    krylov::Options options;
    options.tolerance = 0;
    options.most_iterations = 12;
    options.must_converge = false;
    const Solved expected = poisson(alone, one, box, 3, 0, options, factors);
    options.tolerance = 1e-30;  // the host waits for each residual, which changes no bit of the solution
    const Solved found = poisson(comm, all, box, 3, 0, options, factors);
    EXPECT_EQ(found.bits, expected.bits);
    EXPECT_EQ(found.result.history, expected.result.history);
    EXPECT_EQ(found.result.history.size(), 13u);
    EXPECT_EQ(found.result.true_residual, expected.result.true_residual);
  };
  compare(cube(8, false), Factors::stored);
  compare(cube(8, true), Factors::stored);
  compare(cube(8, false, 0), Factors::affine);
}

INSTANTIATE_TEST_SUITE_P(Backends, PoissonBits,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 4, 8)));

TEST(PoissonRange, DataTimesPowersOfTwoHaveTheSameBits) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  struct Row {
    bool null_space;
    Preconditioner preconditioner;
  };
  for (const Row& row : {Row{false, Preconditioner::jacobi}, Row{true, Preconditioner::jacobi},
                         Row{false, Preconditioner::chebyshev}, Row{true, Preconditioner::chebyshev}}) {
    SolverOptions how;
    how.preconditioner = row.preconditioner;
    const auto solved = [&](int exponent) {
      return poisson(comm, machine, cube(3, row.null_space), 4, 0, {}, Factors::stored, exponent, how);
    };
    const Solved plain = solved(0);
    EXPECT_GT(plain.result.iterations, 3);
    for (const int exponent : {-700, -300, 300, 700}) {
      SCOPED_TRACE("times 2^" + std::to_string(exponent) + (row.null_space ? ", null space" : ""));
      const Solved scaled = solved(exponent);
      EXPECT_EQ(scaled.bits, plain.bits);
      EXPECT_EQ(scaled.error, plain.error);
      EXPECT_EQ(scaled.result.history, plain.result.history);
      EXPECT_EQ(scaled.result.true_residual, plain.result.true_residual);
      EXPECT_EQ(scaled.result.imbalance, plain.result.imbalance);
    }
    for (const int exponent : {-950, 950})
      expect_error([&] { solved(exponent); }, ErrorCode::not_converged, {{"problem", "range"}});
  }
}

class MultigridBits : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(MultigridBits, AreThoseOfOneDevice) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world(), alone(MPI_COMM_SELF);
  const Machine one = machine_here(backend, 1, 0, alone), all = machine_here(backend, devices);
  for (const bool periodic : {false, true})
    for (const auto& [by, method] : {std::pair{Preconditioner::schwarz, krylov::Method::conjugate_gradients},
                                     {Preconditioner::multigrid, krylov::Method::flexible_gmres}}) {
      SolverOptions how;
      how.preconditioner = by;
      how.method = method;
      const Solved expected = poisson(alone, one, cube(4, periodic), 4, 0, {}, Factors::stored, 0, how);
      const Solved found = poisson(comm, all, cube(4, periodic), 4, 0, {}, Factors::stored, 0, how);
      EXPECT_EQ(found.bits, expected.bits);
      EXPECT_EQ(found.result.history, expected.result.history);
      EXPECT_LE(found.result.iterations, 16);
    }
}

INSTANTIATE_TEST_SUITE_P(Backends, MultigridBits,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 4)));

class CoupledSolves : public testing::TestWithParam<std::tuple<Backend, int, Preconditioner>> {};

/// The components converge after different numbers of iterations, and one of them is zero.
TEST_P(CoupledSolves, HaveTheBitsOfSolvesOfEachComponentOnOneDevice) {
  const auto [backend, devices, preconditioner] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  constexpr int components = 4;
  SolverOptions how;
  how.preconditioner = preconditioner;
  how.degree = 3;
  struct Component {
    std::vector<double> x;
    krylov::Result result;
  };
  const auto right_side = [](const Point& x, int c) {
    if (c == 1) return 0.0;
    return c == 0 ? wave(x) : std::ldexp(1.0, 40 * c) * std::exp((c - 1) * x[0] - x[1]) * std::cos(c * x[2]);
  };
  // Solves components `first` to `last` together.
  const auto solved = [&](const Communicator& comm, const Machine& machine, bool periodic, int first, int last) {
    Space space(comm, machine, cube(5, periodic), 3, {Factors::stored, false, {}});
    Constraint constraint(space);
    SolverOptions of_these = how;
    of_these.components = last - first;
    Vector b = space.vector(of_these.components), x = space.vector(of_these.components);
    for (std::size_t d = 0; d < b.size(); ++d) {
      std::vector<double> values;
      for (int c = first; c < last; ++c)
        for (const Point& at : space.places(d)) values.push_back(right_side(at, c));
      const std::vector<double> mass = get(space, space.mass_matrix(), d);
      for (std::size_t p = 0; p < values.size(); ++p) values[p] *= mass[p % mass.size()];
      if (!values.empty()) copy(space.streams()[d], b[d].data(), values.data(), b[d].bytes());
      space.streams()[d].synchronize();
    }
    constraint.assemble(b, of_these.components);
    HelmholtzSolver solver(space, constraint, of_these);
    const std::vector<krylov::Result> results = solver.solve_all(b, x, 0.3, periodic ? 2 : 0, {.tolerance = 1e-9});
    std::vector<Component> found(results.size());
    for (std::size_t c = 0; c < results.size(); ++c) {
      found[c].result = results[c];
      std::string mine;
      for (std::size_t d = 0; d < x.size(); ++d) {
        const std::vector<double> values = get(space, x, d);
        const std::size_t points = values.size() / results.size();
        mine.append(reinterpret_cast<const char*>(values.data() + c * points), points * sizeof(double));
      }
      for (const std::string& part : comm.all_gather(mine)) {
        found[c].x.resize(found[c].x.size() + part.size() / sizeof(double));
        std::memcpy(found[c].x.data() + found[c].x.size() - part.size() / sizeof(double), part.data(), part.size());
      }
    }
    return found;
  };
  const Communicator comm = Communicator::world(), alone(MPI_COMM_SELF);
  const Machine one = machine_here(backend, 1, 0, alone), all = machine_here(backend, devices);
  for (const bool periodic : {false, true}) {
    const std::vector<Component> together = solved(comm, all, periodic, 0, components);
    int most = 0, least = 1000;
    for (int c = 0; c < components; ++c) {
      const Component expected = solved(alone, one, periodic, c, c + 1).front();
      const Component& found = together[static_cast<std::size_t>(c)];
      EXPECT_EQ(found.x, expected.x) << c;
      EXPECT_EQ(found.result.history, expected.result.history) << c;
      EXPECT_EQ(found.result.true_residual, expected.result.true_residual) << c;
      EXPECT_EQ(found.result.iterations, expected.result.iterations) << c;
      if (c != 1) most = std::max(most, found.result.iterations), least = std::min(least, found.result.iterations);
    }
    EXPECT_EQ(together[1].result.iterations, 0);
    EXPECT_GT(least, 2);
    EXPECT_GE(most, least + (preconditioner == Preconditioner::jacobi ? 1 : 0));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, CoupledSolves,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 4),
                                          testing::Values(Preconditioner::jacobi)));
INSTANTIATE_TEST_SUITE_P(Preconditioners, CoupledSolves,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(2),
                                          testing::Values(Preconditioner::chebyshev, Preconditioner::schwarz)));

class SemApply : public testing::TestWithParam<std::tuple<Backend, int>> {};

/// Compares apply() with the element operator followed by a gather-scatter, on devices with many, few and no elements.
TEST_P(SemApply, HasTheBitsOfOperatorAndSumsWithAndWithoutOverlap) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, devices);
  ElementBox few = cube(1, false, 0), straight = cube(4, false, 0.05);
  few.elements = {3, 1, 1};
  straight.straight = true;
  struct Row {
    ElementBox box;
    Factors factors;
  };
  for (const auto& [box, factors] :
       {Row{cube(4, false), Factors::stored}, Row{cube(4, true), Factors::stored}, Row{few, Factors::stored},
        Row{cube(4, false, 0), Factors::affine}, Row{straight, Factors::trilinear}})
    for (const bool overlap : {true, false}) {
      SCOPED_TRACE(to_string(factors) + (overlap ? ", overlapped" : ""));
      SpaceOptions options;
      options.factors = factors;
      options.overlap = overlap;
      Space space(comm, machine, box, 4, options);
      Vector u = space.vector(), sums = space.vector(), found = space.vector();
      Constraint constraint(space);
      put(space, u, wave);
      constraint.assemble(u);
      space.helmholtz(u, sums, 0.7, 2.5);
      space.assemble(sums);
      put(space, found, [](const Point&) { return std::nan(""); });
      std::vector<Buffer<double>> parts;
      for (std::size_t d = 0; d < u.size(); ++d) {
        const std::int64_t block = space.elements_of_a_block();
        parts.emplace_back(space.streams()[d].device(), static_cast<std::size_t>(space.elements(d) / block + 1));
      }
      space.apply(pointers(u), pointers(found), 0.7, 2.5, pointers(parts));
      space.gather_scatter().check();
      double energy = 0, product = 0;
      for (std::size_t d = 0; d < u.size(); ++d) {
        const std::vector<double> expected = get(space, sums, d), have = get(space, found, d),
                                  values = get(space, u, d), weights = get(space, constraint.weights(), d),
                                  of_blocks = get(space, parts, d);
        EXPECT_TRUE(std::equal(have.begin(), have.end(), expected.begin(), expected.end()));
        for (std::size_t p = 0; p < have.size(); ++p) product += weights[p] * values[p] * have[p];
        for (std::size_t n = 0; n + 1 < of_blocks.size(); ++n) energy += of_blocks[n];
      }
      energy = comm.sum_in_rank_order(energy);
      product = comm.sum_in_rank_order(product);
      EXPECT_GT(product, 0);
      EXPECT_NEAR(energy, product, 1e-12 * product);
    }
}

INSTANTIATE_TEST_SUITE_P(Backends, SemApply,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 4)));

TEST(SemRefusesOnRanks, WhatHasNoSolutionAndWhatDoesNotConverge) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  Space space(comm, machine, cube(4, true), 3);
  Constraint constraint(space);
  Vector f = space.vector(), b = space.vector(), x = space.vector();
  put(space, f, [](const Point& at) { return 1 + wave(at); });
  space.mass(f, b);
  space.assemble(b);
  expect_error([&] { solve(space, constraint, b, x, 1, 0); }, ErrorCode::not_converged, {{"problem", "imbalance"}});
  put(space, f, wave);
  space.mass(f, b);
  space.assemble(b);
  krylov::Options few;
  few.most_iterations = 3;
  expect_error([&] { solve(space, constraint, b, x, 1, 0, few); }, ErrorCode::not_converged, {{"iterations", 3}});
  put(space, f, [](const Point& at) { return at[0] > 0.5 ? std::nan("") : 1.0; });
  expect_error([&] { solve(space, constraint, f, x, 1, 1); }, ErrorCode::not_converged, {{"problem", "right_side"}});
}

TEST(SemRefusesOnRanks, AnElementThatOneRankFindsTurnedInsideOut) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  ElementBox box = cube(4, false, 0);
  // The last layer of elements, on the last rank, is inverted.
  box.map = [](std::span<const Point> places) {
    std::vector<Point> there(places.begin(), places.end());
    for (Point& x : there) x[2] = std::min(x[2], 1.5 - x[2]);
    return there;
  };
  expect_error([&] { Space space(comm, machine, box, 3); }, ErrorCode::invalid_argument,
               {{"element", 48}, {"problem", "inside_out"}, {"place", "(0, 0, 0.75)"}});
}

}  // namespace
}  // namespace slipstream::sem

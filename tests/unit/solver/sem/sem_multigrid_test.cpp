// Preconditioners of spectral elements: iterations, symmetry, and errors for invalid input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include <slipstream/sem.hpp>

#include "solver/sem/multigrid/eigen.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/sem_rig.hpp"

namespace slipstream::sem {
namespace {

struct Poisson {
  Machine machine = machine_here(Backend::host, 1);
  Space space;
  Constraint constraint;
  Vector b, x;

  Poisson(const ElementBox& box, int order, const DirichletFaces& faces, Factors factors = Factors::stored)
      : space(Communicator::world(), machine, box, order, {factors, false, {}}), constraint(space, faces) {
    Vector f = space.vector();
    std::vector<double> values;
    for (const Point& x0 : space.places(0))
      values.push_back(std::sin(3 * x0[0]) * std::cos(2 * x0[1]) + x0[2] * x0[0] + 1);
    set(space, f, values);
    b = space.vector();
    x = space.vector();
    space.mass(f, b);
    constraint.assemble(b);
  }
  /// Removes the mean of the right side b, as a problem without Dirichlet sides requires.
  void balance() {
    std::vector<double> b0 = get(space, b);
    const std::vector<double> w = get(space, space.weights());
    double sum = 0, all = 0;
    for (std::size_t p = 0; p < b0.size(); ++p) {
      sum += w[p] * b0[p];
      all += w[p];
    }
    for (double& value : b0) value -= sum / all;
    set(space, b, b0);
  }
  krylov::Result solve(const SolverOptions& how, double h2 = 0, double tolerance = 1e-8) {
    krylov::Options options;
    options.tolerance = tolerance;
    options.from_zero = true;
    options.must_converge = false;
    return HelmholtzSolver(space, constraint, how).solve(b, x, 1, h2, options);
  }
};

ElementBox bent(std::int64_t n, double bend) {
  ElementBox box;
  box.elements = {n, n, n};
  box.deform = bend;
  return box;
}

SolverOptions by(Preconditioner preconditioner, int degree = 2) {
  SolverOptions how;
  how.preconditioner = preconditioner;
  how.degree = degree;
  return how;
}

TEST(Multigrid, TakesFewIterationsOnBentElementsWhateverTheirNumber) {
  for (const std::int64_t n : {2, 3}) {
    const ElementBox box = bent(n, 0.1);
    Poisson poisson(box, 7, box.dirichlet());
    for (const auto& [preconditioner, degree, most] : {std::tuple{Preconditioner::schwarz, 2, 13},
                                                       {Preconditioner::schwarz, 3, 9},
                                                       {Preconditioner::multigrid, 3, 19}}) {
      const krylov::Result found = poisson.solve(by(preconditioner, degree));
      EXPECT_TRUE(found.converged);
      EXPECT_LE(found.true_residual, 1.1e-8);
      EXPECT_LE(found.iterations, most) << n;
      EXPECT_GE(found.iterations, 4) << n;
    }
  }
}

TEST(Preconditioners, FindTheSolutionThatTheDiagonalFinds) {
  struct Row {
    const char* name;
    int order;
    std::array<bool, 3> periodic;
    SideFlags fixed;
    double h2;
    Factors factors;
  };
  const SideFlags all{{{true, true}, {true, true}, {true, true}}}, none{},
      one{{{true, false}, {false, false}, {false, false}}};
  const Row rows[] = {{"order 1", 1, {}, all, 0, Factors::stored},
                      {"order 2", 2, {}, all, 0, Factors::stored},
                      {"order 3", 3, {}, one, 0, Factors::stored},
                      {"order 11", 11, {}, all, 0, Factors::stored},
                      {"order 12", 12, {}, one, 0, Factors::stored},
                      {"order 15", 15, {}, all, 0, Factors::stored},
                      {"periodic", 5, {true, true, true}, none, 0, Factors::stored},
                      {"fluxes alone", 5, {}, none, 0, Factors::stored},
                      {"Helmholtz", 5, {true, false, false}, none, 3, Factors::stored},
                      {"affine", 5, {}, all, 0, Factors::affine},
                      {"trilinear", 5, {}, one, 0, Factors::trilinear}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    ElementBox box;
    box.elements = row.order > 7 ? std::array<std::int64_t, 3>{2, 1, 1} : std::array<std::int64_t, 3>{3, 2, 2};
    box.upper = {1, 1.5, 0.7};
    box.periodic = row.periodic;
    box.straight = row.factors == Factors::trilinear;
    box.deform = row.factors == Factors::affine ? 0 : 0.05;
    if (row.factors == Factors::affine) box.stretch = {10, 1, 1};
    Poisson poisson(box, row.order, box.dirichlet(row.fixed), row.factors);
    if (!poisson.constraint.any() && row.h2 == 0) poisson.balance();
    const krylov::Result plain = poisson.solve({}, row.h2, 1e-11);
    const std::vector<double> expected = get(poisson.space, poisson.x);
    for (const Preconditioner preconditioner :
         {Preconditioner::chebyshev, Preconditioner::multigrid, Preconditioner::schwarz}) {
      const krylov::Result found = poisson.solve(by(preconditioner, 3), row.h2, 1e-11);
      const std::vector<double> here = get(poisson.space, poisson.x);
      EXPECT_TRUE(found.converged);
      EXPECT_LE(found.iterations, preconditioner == Preconditioner::chebyshev ? plain.iterations : 40);
      EXPECT_LE(found.iterations, plain.iterations);
      double size = 0, off = 0;
      for (std::size_t p = 0; p < here.size(); ++p) {
        size = std::max(size, std::abs(expected[p]));
        off = std::max(off, std::abs(here[p] - expected[p]));
      }
      EXPECT_LE(off, 1e-8 * size);
    }
  }
}

/// Tests polynomial orders whose kernels no other test runs on a level.
TEST(Multigrid, TakesFewIterationsAtOtherOrders) {
  for (const int order : {4, 8, 9, 10, 13, 14}) {
    ElementBox box;
    box.elements = {2, 1, 1};
    box.deform = 0.05;
    const krylov::Result found = Poisson(box, order, box.dirichlet()).solve(by(Preconditioner::schwarz));
    EXPECT_TRUE(found.converged) << order;
    EXPECT_LE(found.true_residual, 1.1e-8) << order;
    EXPECT_LE(found.iterations, 13) << order;
  }
}

TEST(Preconditioners, AreSymmetricAndPositiveButForRounding) {
  const ElementBox box = bent(3, 0.1);
  for (const SideFlags& fixed : {SideFlags{{{true, true}, {true, true}, {true, true}}}, SideFlags{}})
    for (const Preconditioner preconditioner :
         {Preconditioner::jacobi, Preconditioner::chebyshev, Preconditioner::multigrid, Preconditioner::schwarz}) {
      Poisson poisson(box, 5, box.dirichlet(fixed));
      const krylov::Fit fit = HelmholtzSolver(poisson.space, poisson.constraint, by(preconditioner)).fit(1, 0);
      EXPECT_LE(fit.operator_asymmetry, 1e-12);
      EXPECT_LE(fit.preconditioner_asymmetry, 1e-5);
      EXPECT_TRUE(fit.operator_positive && fit.preconditioner_positive);
      EXPECT_GT(fit.operator_us, 0);
      EXPECT_GT(fit.preconditioner_us, 0);
    }
}

TEST(Multigrid, GoesWithFlexibleGmres) {
  const ElementBox box = bent(3, 0.1);
  Poisson poisson(box, 6, box.dirichlet());
  SolverOptions how = by(Preconditioner::schwarz);
  const int conjugate = poisson.solve(how).iterations;
  how.method = krylov::Method::flexible_gmres;
  const krylov::Result whole = poisson.solve(how);
  EXPECT_TRUE(whole.converged);
  EXPECT_LE(whole.true_residual, 1.1e-8);
  EXPECT_LE(whole.iterations, conjugate + 1);
  how.restart = 4;
  const krylov::Result restarted = poisson.solve(how);
  EXPECT_TRUE(restarted.converged);
  EXPECT_GE(restarted.iterations, whole.iterations);
}

/// The solver checks each pair of system and preconditioner, also after a change of coefficients: here the new system
/// is indefinite.
TEST(Preconditioners, AreRefusedForAnIndefiniteSystemThatFollowsAPositiveOne) {
  const ElementBox box = bent(2, 0.05);
  Poisson poisson(box, 4, box.dirichlet());
  for (const Preconditioner preconditioner : {Preconditioner::jacobi, Preconditioner::chebyshev}) {
    HelmholtzSolver solver(poisson.space, poisson.constraint, by(preconditioner));
    const krylov::Options options{.tolerance = 1e-8, .from_zero = true};
    const int iterations = solver.solve(poisson.b, poisson.x, 1, 3, options).iterations;
    EXPECT_GT(iterations, 5);
    expect_error(error_of([&] { solver.solve(poisson.b, poisson.x, 1, -300, options); }), ErrorCode::not_converged,
                 {{"problem", "indefinite"}});
    EXPECT_EQ(solver.solve(poisson.b, poisson.x, 1, 3, options).iterations, iterations);
  }
  // Multigrid refuses the system before conjugate gradients can: the matrix of a smoother is already indefinite.
  const auto refused = error_of([&] { poisson.solve(by(Preconditioner::multigrid), -300); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), ErrorCode::not_converged);
}

TEST(Projection, GivesTheGuessThatEarlierSolutionsHold) {
  const ElementBox box = bent(2, 0.05);
  Poisson poisson(box, 5, box.dirichlet());
  SolverOptions how;
  how.projection = 5;
  HelmholtzSolver solver(poisson.space, poisson.constraint, how);
  const std::vector<double> first = get(poisson.space, poisson.b);
  krylov::Options options;
  options.from_zero = true;
  options.tolerance = 1e-10;
  const int plain = solver.solve(poisson.b, poisson.x, 1, 0, options).iterations;
  EXPECT_GT(plain, 10);
  std::vector<double> third = first;
  for (double& value : third) value *= 3;
  set(poisson.space, poisson.b, third);
  options.tolerance = 1e-9;
  EXPECT_LE(solver.solve(poisson.b, poisson.x, 1, 0, options).iterations, 3);
  // The operator has changed, so the solver must not use solutions of earlier systems for its initial guess.
  EXPECT_GT(solver.solve(poisson.b, poisson.x, 1, 50, options).iterations, 5);
}

TEST(Projection, LosesTheOldestOfItsSolutionsAloneWhenItIsFull) {
  const ElementBox box = bent(2, 0.05);
  Poisson poisson(box, 5, box.dirichlet());
  SolverOptions how;
  how.projection = 3;
  HelmholtzSolver solver(poisson.space, poisson.constraint, how);
  const krylov::Options options{.tolerance = 1e-9, .from_zero = true};
  const std::vector<double> smooth = get(poisson.space, poisson.b);
  // Right sides are multiplied by powers of a coordinate, so that no solution lies in the span of others.
  const auto right = [&](std::size_t n) {
    std::vector<double> values = smooth;
    std::size_t p = 0;
    for (std::size_t d = 0; d < poisson.b.size(); ++d)
      for (const Point& x : poisson.space.places(d)) values[p++] *= std::pow(2 * x[0] - 1, static_cast<double>(n));
    return values;
  };
  const auto iterations_of = [&](const std::vector<double>& values) {
    set(poisson.space, poisson.b, values);
    return solver.solve(poisson.b, poisson.x, 1, 0, options).iterations;
  };
  for (std::size_t n = 0; n < 5; ++n) EXPECT_GT(iterations_of(right(n)), 10) << n;
  std::vector<double> of_three = right(2);
  for (std::size_t p = 0; p < of_three.size(); ++p) of_three[p] += 2 * right(3)[p] - 3 * right(4)[p];
  EXPECT_EQ(solver.earlier(), 3);
  EXPECT_LE(iterations_of(of_three), 3);
  EXPECT_GT(iterations_of(right(0)), 10);
}

TEST(Eigen, AreThoseOfTheGeneralProblem) {
  constexpr std::size_t n = 7;
  std::vector<double> k(n * n, 0.0), b(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double away = std::abs(static_cast<double>(i) - static_cast<double>(j));
      k[i * n + j] = away == 0 ? 2 : away == 1 ? -1 : 0;
      b[i * n + j] = away == 0 ? 4.0 / 6 : away == 1 ? 1.0 / 6 : 0;
    }
  const Eigen found = generalized_eigen(n, k, b);
  std::vector<double> values = found.values;
  std::sort(values.begin(), values.end());
  for (std::size_t m = 0; m < n; ++m) {
    // Eigenvalues of linear elements of width 1: 6 (1 - cos t) / (2 + cos t), t = (m + 1) pi / (n + 1).
    const double c = std::cos(static_cast<double>(m + 1) * std::numbers::pi / static_cast<double>(n + 1));
    EXPECT_NEAR(values[m], 6 * (1 - c) / (2 + c), 1e-12);
  }
  for (std::size_t c = 0; c < n; ++c)
    for (std::size_t d = 0; d < n; ++d) {
      double product = 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
          product += found.vectors[i * n + c] * b[i * n + j] * found.vectors[j * n + d];
      EXPECT_NEAR(product, c == d ? 1 : 0, 1e-12);
    }
}

}  // namespace
}  // namespace slipstream::sem

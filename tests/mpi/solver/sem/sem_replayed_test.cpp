// Repeated solves replay graphs whose loops end on the devices. Bits, residuals and iterations equal those of the first
// solve, which is not recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <slipstream/sem.hpp>

#include "solver/sem/krylov_of.hpp"
#include "support/machine_rig.hpp"
#include "support/sem_rig.hpp"

namespace slipstream::sem {
namespace {

class ReplayedSolves : public testing::TestWithParam<std::tuple<Backend, int, Preconditioner>> {
 protected:
  static constexpr int components = 3;
  Backend backend = std::get<0>(GetParam());
  int devices = std::get<1>(GetParam());
  Preconditioner preconditioner = std::get<2>(GetParam());

  struct Run {
    std::vector<std::vector<double>> x;
    std::vector<krylov::Result> results;
    int operators = 0;  ///< number of operator calls by the host
  };

  static Vector right_side(Space& space, Constraint& constraint) {
    Vector b = space.vector(components);
    for (std::size_t d = 0; d < b.size(); ++d) {
      const std::vector<double> mass = get(space, space.mass_matrix(), d);
      std::vector<double> values;
      for (int c = 0; c < components; ++c)
        for (const Point& x : space.places(d))
          values.push_back(c == 1 ? 0
                                  : mass[values.size() % mass.size()] * std::exp(x[0] + c * x[1]) * std::cos(5 * x[2]));
      if (!values.empty()) copy(space.streams()[d], b[d].data(), values.data(), b[d].bytes());
      space.streams()[d].synchronize();
    }
    constraint.assemble(b, components);
    return b;
  }
  static void expect_same(const Run& found, const Run& first) {
    EXPECT_EQ(found.x, first.x);
    for (std::size_t c = 0; c < first.results.size(); ++c) {
      EXPECT_EQ(found.results[c].history, first.results[c].history) << c;
      EXPECT_EQ(found.results[c].iterations, first.results[c].iterations) << c;
      EXPECT_EQ(found.results[c].converged, first.results[c].converged) << c;
      EXPECT_EQ(found.results[c].true_residual, first.results[c].true_residual) << c;
    }
  }
};

TEST_P(ReplayedSolves, AreThoseThatTheHostEnds) {
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  ElementBox box;
  box.elements = {3, 2, 4};
  box.deform = 0.1;
  Space space(comm, machine_here(backend, devices), box, 4, {Factors::stored, false, {}});
  Constraint constraint(space);
  const Vector b = right_side(space, constraint);
  SolverOptions how;
  how.components = components;
  how.preconditioner = preconditioner;
  how.degree = 2;
  HelmholtzSolver solver(space, constraint, how);
  Vector x = space.vector(components);
  const auto solved = [&](double h2, krylov::Options options) {
    options.from_zero = true;
    options.must_converge = false;
    Run run;
    run.results = solver.solve_all(b, x, 1, h2, options);
    for (std::size_t d = 0; d < x.size(); ++d) run.x.push_back(get(space, x, d));
    return run;
  };
  // Solves that end by tolerance, by the iteration limit, at once, and after more iterations than the history holds.
  for (const krylov::Options& options :
       {krylov::Options{.tolerance = 1e-9}, krylov::Options{.tolerance = 0, .most_iterations = 5},
        krylov::Options{.tolerance = 0.5}, krylov::Options{.tolerance = 0, .most_iterations = 150}}) {
    // In single precision multigrid becomes indefinite once the residual is at rounding level.
    if (options.most_iterations == 150 && preconditioner == Preconditioner::schwarz) continue;
    SCOPED_TRACE("tolerance " + std::to_string(options.tolerance));
    const Run first = solved(3, options);
    EXPECT_GT(first.results[0].iterations, 0);
    for (int again = 0; again < 2; ++again) expect_same(solved(3, options), first);
    if (options.most_iterations == 150) {
      EXPECT_GT(first.results[0].iterations, 128);
    }
  }
  // A changed operator requires a new recording.
  const Run first = solved(40, {.tolerance = 1e-9});
  for (int again = 0; again < 2; ++again) expect_same(solved(40, {.tolerance = 1e-9}), first);
}

/// Flexible GMRES restarts after 6 vectors and needs more iterations, so that each restart replays the recorded graphs.
TEST_P(ReplayedSolves, AreThoseOfFlexibleGmres) {
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  ElementBox box;
  box.elements = {3, 2, 4};
  box.deform = 0.1;
  Space space(Communicator::world(), machine_here(backend, devices), box, 4, {Factors::stored, false, {}});
  Constraint constraint(space);
  const Vector b = right_side(space, constraint);  // right side of the first component of the unknown
  SolverOptions how;
  how.method = krylov::Method::flexible_gmres;
  how.preconditioner = preconditioner;
  how.restart = 6;
  HelmholtzSolver solver(space, constraint, how);
  Vector x = space.vector();
  const auto solved = [&] {
    Run run;
    run.results.push_back(solver.solve(b, x, 1, 3, {.tolerance = 1e-9, .from_zero = true}));
    for (std::size_t d = 0; d < x.size(); ++d) run.x.push_back(get(space, x, d));
    return run;
  };
  const Run first = solved();
  EXPECT_GT(first.results[0].iterations, 6);
  for (int again = 0; again < 2; ++again) expect_same(solved(), first);
}

/// The host calls the operator only for the first residual, the first iteration and the true residual; graphs do the
/// rest.
TEST_P(ReplayedSolves, CallNoOperatorAnIteration) {
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  if (preconditioner != Preconditioner::jacobi) return;
  const Communicator comm = Communicator::world();
  ElementBox box;
  box.elements = {3, 3, 4};
  if (backend == Backend::cuda && comm.size() * devices > device_count(backend))
    GTEST_SKIP() << "devices share GPUs: their sums travel by ways that graphs do not repeat";
  const Machine machine = machine_here(backend, devices);
  Space space(comm, machine, box, 3, {Factors::stored, false, {}});
  ASSERT_TRUE(space.loopable(components));
  Constraint constraint(space);
  const Vector b = right_side(space, constraint), inverse = space.inverse_diagonal(constraint.mask(), 1, 1);
  Vector x = space.vector(components);
  krylov::ConjugateGradients method(comm, machine, layout_of(space, space.points_per_element(), components));
  int operators = 0;
  krylov::System system;
  system.apply = [&](const krylov::Vectors& in, const krylov::Vectors& out) {
    ++operators;
    space.apply(in, out, 1, 1, {}, {}, components);
  };
  system.recording = krylov::new_recording();
  system.weights = values(constraint.weights());
  system.inverse_diagonal = values(inverse);
  std::vector<int> called;
  int iterations = 0;
  for (int run = 0; run < 3; ++run) {
    operators = 0;
    iterations = method.solve_all(space.streams(), system, values(b), pointers(x), {.from_zero = true})[0].iterations;
    called.push_back(operators);
  }
  EXPECT_GT(iterations, 5);
  EXPECT_GE(called[0], iterations + 1);
  EXPECT_EQ(called[1], 3);  // operator calls by the host in the second solve, whose iterations become a graph
  EXPECT_EQ(called[2], 2);
}

INSTANTIATE_TEST_SUITE_P(Backends, ReplayedSolves,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2),
                                          testing::Values(Preconditioner::jacobi, Preconditioner::chebyshev,
                                                          Preconditioner::schwarz)));

}  // namespace
}  // namespace slipstream::sem

// Preconditioners of spectral elements: iterations, symmetry, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

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
  krylov::Result solve(const SolverOptions& how, double h2 = 0, double tolerance = 1e-8) {
    krylov::Options options;
    options.tolerance = tolerance;
    options.from_zero = true;
    options.imbalance = 10;
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

SolverOptions by(Smoother smoother, int smoothing = 2) {
  SolverOptions how;
  how.multigrid = smoother;
  how.smoothing = smoothing;
  return how;
}

TEST(Multigrid, TakesFewIterationsOnBentElements) {
  for (const std::int64_t n : {2, 4}) {
    const ElementBox box = bent(n, 0.1);
    Poisson poisson(box, 7, box.dirichlet());
    const krylov::Result schwarz = poisson.solve(by(Smoother::schwarz)),
                         jacobi = poisson.solve(by(Smoother::jacobi, 3));
    EXPECT_TRUE(schwarz.converged);
    EXPECT_LE(schwarz.true_residual, 1.1e-8);
    EXPECT_LE(schwarz.iterations, 14) << n;
    EXPECT_LE(jacobi.iterations, 22) << n;
    std::printf("n %d schwarz %d jacobi %d plain %d\n", static_cast<int>(n), schwarz.iterations, jacobi.iterations,
                poisson.solve({}).iterations);
  }
}

}  // namespace
}  // namespace slipstream::sem

// Poisson's and Helmholtz's equations: what conjugate gradients need to know of elements.
#include <algorithm>
#include <utility>

#include <slipstream/sem.hpp>

#include "solver/sem/kernels.hpp"

namespace slipstream::sem {
namespace {

krylov::Values values(const Vector& vector) {
  const std::vector<double*> all = pointers(vector);
  return {all.begin(), all.end()};
}

krylov::Layout layout_of(Space& space) {
  krylov::Layout layout;
  layout.block = space.elements_of_a_block() * space.points_per_element();
  for (std::size_t d = 0; d < space.streams().size(); ++d) {
    layout.points.push_back(space.points(d));
    layout.first_block.push_back(space.first_element(d) / space.elements_of_a_block());
  }
  return layout;
}

const Coefficients no_coefficients;

}  // namespace

struct HelmholtzSolver::Impl {
  Space& space;
  const Constraint& constraint;
  const Coefficients& coefficients;
  krylov::ConjugateGradients method;
  Vector mass;  ///< h2 B and the reaction, where there is one
  Vector inverse;
  double largest = 0;              ///< eigenvalue, 0: not asked for yet
  std::pair<double, double> of{};  ///< the h1 and h2 that these belong to

  Impl(Space& s, const Constraint& c, const Coefficients& own)
      : space(s), constraint(c), coefficients(own), method(s.comm(), s.machine(), layout_of(s)) {
    if (!coefficients.reaction.empty()) mass = space.vector();
  }

  OperatorTerms terms() const {
    return {coefficients.factors.empty() ? nullptr : &coefficients.factors, mass.empty() ? nullptr : &mass};
  }
  /// The factor of what terms() has for B.
  double of_mass(double h2) const { return mass.empty() ? h2 : 1; }

  void prepare(double h1, double h2) {
    if (!inverse.empty() && of == std::pair{h1, h2}) return;
    for (std::size_t d = 0; d < mass.size(); ++d) {
      Sum sum;
      sum.add({h2, space.mass_matrix()[d].data()});
      sum.add({1, coefficients.reaction[d].data()});
      combine(space.streams()[d], sum, mass[d].data(), space.points(d));
    }
    inverse = space.inverse_diagonal(constraint.mask(), h1, of_mass(h2), terms());
    largest = 0;
    of = {h1, h2};
  }

  krylov::Result solve(const Vector& b, Vector& x, double h1, double h2, krylov::Options options) {
    options.null_space = options.null_space || (h2 == 0 && mass.empty() && !constraint.any());
    prepare(h1, h2);
    krylov::System system;
    // Not masked: weights and diagonal are zero at fixed points.
    system.apply = [&](const krylov::Vectors& in, const krylov::Vectors& out) {
      space.apply(in, out, h1, of_mass(h2), {}, terms());
    };
    system.apply_with_parts = [&](const krylov::Vectors& in, const krylov::Vectors& out, const krylov::Vectors& parts) {
      space.apply(in, out, h1, of_mass(h2), parts, terms());
    };
    system.weights = values(constraint.weights());
    system.inverse_diagonal = values(inverse);
    system.measure = values(space.mass_matrix());
    if (options.preconditioner == krylov::Preconditioner::chebyshev) {
      if (largest == 0) largest = method.largest_eigenvalue(space.streams(), system);
      system.largest_eigenvalue = largest;
    }
    krylov::Result result = method.solve(space.streams(), system, values(b), pointers(x), options);
    for (Stream& stream : space.streams()) stream.synchronize();
    return result;
  }
};

HelmholtzSolver::HelmholtzSolver(Space& space, const Constraint& constraint)
    : HelmholtzSolver(space, constraint, no_coefficients) {}
HelmholtzSolver::HelmholtzSolver(Space& space, const Constraint& constraint, const Coefficients& coefficients)
    : impl_(std::make_unique<Impl>(space, constraint, coefficients)) {}
HelmholtzSolver::~HelmholtzSolver() = default;
HelmholtzSolver::HelmholtzSolver(HelmholtzSolver&&) noexcept = default;

krylov::Result HelmholtzSolver::solve(const Vector& b, Vector& x, double h1, double h2, krylov::Options options) {
  return impl_->solve(b, x, h1, h2, std::move(options));
}

void HelmholtzSolver::apply(Vector& u, double h1, double h2) {
  impl_->prepare(h1, h2);
  impl_->space.helmholtz(u, u, h1, impl_->of_mass(h2), impl_->terms());
}

krylov::Result solve(Space& space, const Constraint& constraint, const Vector& b, Vector& x, double h1, double h2,
                     krylov::Options options) {
  return HelmholtzSolver(space, constraint).solve(b, x, h1, h2, std::move(options));
}

}  // namespace slipstream::sem

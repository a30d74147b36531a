// Solves Poisson's and Helmholtz's equations on elements by Krylov methods.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <slipstream/error.hpp>
#include <slipstream/sem.hpp>

#include "solver/sem/kernels.hpp"
#include "solver/sem/krylov_of.hpp"
#include "solver/sem/multigrid/multigrid.hpp"

namespace slipstream::sem {
namespace {

const Coefficients no_coefficients;

}  // namespace

struct HelmholtzSolver::Impl {
  Space& space;
  const Constraint& constraint;
  const Coefficients& coefficients;
  SolverOptions how;
  krylov::Layout layout;
  std::optional<krylov::ConjugateGradients> conjugate_gradients;
  std::optional<krylov::FlexibleGmres> flexible_gmres;
  std::optional<krylov::Projection> projection;
  std::optional<krylov::ChebyshevPolynomial> polynomial;
  std::optional<Multigrid> multigrid;
  Vector mass;  ///< mass term at points: h2 B and the reaction, if there is one
  Vector inverse;
  double largest = 0;                              ///< largest eigenvalue of inverse diagonal times operator
  std::pair<double, double> of{};                  ///< stiffness and mass factors that the preconditioner was made for
  std::uint64_t recording = 0;                     ///< identifies the solver's work for replay as graphs; 0: no graphs
  std::vector<std::pair<double, double>> checked;  ///< h1 and h2 for which the test of method and preconditioner passed

  Impl(Space& s, const Constraint& c, const Coefficients& own, const SolverOptions& o)
      : space(s), constraint(c), coefficients(own), how(o), layout(layout_of(s, s.points_per_element(), o.components)) {
    require(how.degree >= 1, "polynomials have degree 1 or more",
            {{"option", "degree"}, {"given", how.degree}, {"least", 1}});
    require(how.projection >= 0, "a projection keeps 0 solutions or more",
            {{"option", "projection"}, {"given", how.projection}, {"least", 0}});
    if (!coefficients.reaction.empty()) mass = space.vector();
    if (how.method == krylov::Method::conjugate_gradients) {
      conjugate_gradients.emplace(space.comm(), space.machine(), layout);
    } else {
      flexible_gmres.emplace(space.comm(), space.machine(), layout, how.restart);
    }
    if (how.projection > 0) projection.emplace(space.comm(), space.machine(), layout, how.projection, how.earlier);
    switch (how.preconditioner) {
      case Preconditioner::jacobi:
        break;
      case Preconditioner::chebyshev:
        polynomial.emplace(space.comm(), space.machine(), layout, how.degree);
        break;
      case Preconditioner::multigrid:
        multigrid.emplace(space, constraint, Smoother::jacobi, how.degree);
        break;
      case Preconditioner::schwarz:
        multigrid.emplace(space, constraint, Smoother::schwarz, how.degree);
        break;
    }
  }

  OperatorTerms terms() const {
    return {coefficients.factors.empty() ? nullptr : &coefficients.factors, mass.empty() ? nullptr : &mass};
  }
  /// Factor of the operator's mass term: h2, or 1 if `mass` has the whole term, h2 times the mass plus a reaction.
  double of_mass(double h2) const { return mass.empty() ? h2 : 1; }
  bool singular(double h2) const { return h2 == 0 && mass.empty() && !constraint.any(); }

  void prepare(double h1, double h2) {
    if (!inverse.empty() && of == std::pair{h1, h2}) return;
    // A new factor of stiffness or mass: earlier solutions are of another operator, except those of a restart.
    if (projection && !inverse.empty()) projection->forget();
    for (std::size_t d = 0; d < mass.size(); ++d) {
      Sum sum;
      sum.add({h2, space.mass_matrix()[d].data()});
      sum.add({1, coefficients.reaction[d].data()});
      combine(space.streams()[d], sum, mass[d].data(), space.points(d));
    }
    inverse = space.inverse_diagonal(constraint.mask(), h1, of_mass(h2), terms());
    if (multigrid) multigrid->set_up(h1, of_mass(h2), terms(), singular(h2));
    if (polynomial) largest = largest_eigenvalue(plain_system(h1, h2));
    of = {h1, h2};
    const bool loops = space.loopable(how.components) && (!multigrid || multigrid->loopable());
    recording = loops ? krylov::new_recording() : 0;
  }

  double largest_eigenvalue(const krylov::System& system) {
    std::vector<Stream>& streams = space.streams();
    if (conjugate_gradients) return conjugate_gradients->spectrum(streams, system).largest;
    return krylov::ConjugateGradients(space.comm(), space.machine(), layout).spectrum(streams, system).largest;
  }

  /// The linear system of a Helmholtz operator, h1 times stiffness plus h2 times mass, without a preconditioner.
  krylov::System plain_system(double h1, double h2) {
    krylov::System system;
    // Results at fixed points are not masked, because weights and diagonal are zero there.
    system.apply = [this, h1, h2](const krylov::Vectors& in, const krylov::Vectors& out) {
      space.apply(in, out, h1, of_mass(h2), {}, terms(), how.components);
    };
    system.apply_with_parts = [this, h1, h2](const krylov::Vectors& in, const krylov::Vectors& out,
                                             const krylov::Vectors& parts) {
      space.apply(in, out, h1, of_mass(h2), parts, terms(), how.components);
    };
    system.weights = values(constraint.weights());
    system.inverse_diagonal = values(inverse);
    system.measure = values(space.mass_matrix());
    return system;
  }

  krylov::Vectors component(krylov::Vectors of, int c) const {
    for (std::size_t d = 0; d < of.size(); ++d) of[d] += c * space.points(d);
    return of;
  }

  krylov::System system_of(double h1, double h2) {
    krylov::System system = plain_system(h1, h2);
    system.recording = recording;
    if (multigrid)
      system.precondition = [this](const krylov::Vectors& r, const krylov::Vectors& z) {
        for (int c = 0; c < how.components; ++c) multigrid->apply(component(r, c), component(z, c));
      };
    if (polynomial)
      system.precondition = [this, plain = system](const krylov::Vectors& r, const krylov::Vectors& z) {
        polynomial->apply(space.streams(), plain, largest, r, z);
      };
    return system;
  }

  krylov::Fit fit(double h1, double h2) {
    prepare(h1, h2);
    krylov::Fit found = krylov::fit(space.comm(), space.machine(), layout, space.streams(), system_of(h1, h2));
    if (multigrid) found.coarse_us = multigrid->coarse_us();
    if (conjugate_gradients) krylov::require_fit(found);
    checked.push_back(of);
    return found;
  }

  std::vector<krylov::Result> solve_all(const Vector& b, Vector& x, double h1, double h2, krylov::Options options) {
    options.null_space = options.null_space || singular(h2);
    prepare(h1, h2);
    const krylov::System system = system_of(h1, h2);
    if (std::find(checked.begin(), checked.end(), of) == checked.end()) fit(h1, h2);
    std::vector<Stream>& streams = space.streams();
    const krylov::Values right = values(b);
    const krylov::Vectors into = pointers(x);
    if (projection) {
      if (options.from_zero)
        for (std::size_t d = 0; d < x.size(); ++d)
          if (x[d].size() > 0) fill(streams[d], x[d].data(), 0, x[d].bytes());
      options.from_zero = false;
      projection->improve(streams, system, right, into);
    }
    std::vector<krylov::Result> results;
    if (conjugate_gradients) {
      results = conjugate_gradients->solve_all(streams, system, right, into, options);
    } else {
      results.push_back(flexible_gmres->solve(streams, system, right, into, options));
    }
    if (projection && results.front().iterations > 0) projection->keep(streams, system, into);
    for (Stream& stream : streams) stream.synchronize();
    return results;
  }
};

HelmholtzSolver::HelmholtzSolver(Space& space, const Constraint& constraint, SolverOptions options)
    : HelmholtzSolver(space, constraint, no_coefficients, options) {}
HelmholtzSolver::HelmholtzSolver(Space& space, const Constraint& constraint, const Coefficients& coefficients,
                                 SolverOptions options)
    : impl_(std::make_unique<Impl>(space, constraint, coefficients, options)) {}
HelmholtzSolver::~HelmholtzSolver() = default;
HelmholtzSolver::HelmholtzSolver(HelmholtzSolver&&) noexcept = default;

krylov::Result HelmholtzSolver::solve(const Vector& b, Vector& x, double h1, double h2, krylov::Options options) {
  require(impl_->how.components == 1, ErrorCode::unsupported,
          "a solver of several components solves for all of them: call solve_all",
          {{"option", "components"}, {"given", impl_->how.components}, {"needed", 1}});
  return solve_all(b, x, h1, h2, std::move(options)).front();
}

std::vector<krylov::Result> HelmholtzSolver::solve_all(const Vector& b, Vector& x, double h1, double h2,
                                                       krylov::Options options) {
  return impl_->solve_all(b, x, h1, h2, std::move(options));
}

void HelmholtzSolver::apply(Vector& u, double h1, double h2) {
  impl_->prepare(h1, h2);
  impl_->space.helmholtz(u, u, h1, impl_->of_mass(h2), impl_->terms());
}

int HelmholtzSolver::earlier() const { return impl_->projection ? impl_->projection->vectors() : 0; }
void HelmholtzSolver::set_earlier(int count) {
  if (impl_->projection) impl_->projection->set_vectors(count);
}

krylov::Fit HelmholtzSolver::fit(double h1, double h2) { return impl_->fit(h1, h2); }

krylov::Result solve(Space& space, const Constraint& constraint, const Vector& b, Vector& x, double h1, double h2,
                     krylov::Options options) {
  return HelmholtzSolver(space, constraint).solve(b, x, h1, h2, std::move(options));
}

}  // namespace slipstream::sem

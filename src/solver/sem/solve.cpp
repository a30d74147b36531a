// Poisson's and Helmholtz's equations: what Krylov methods need to know of elements.
#include <algorithm>
#include <optional>
#include <utility>

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
  std::optional<Multigrid> multigrid;
  Vector mass;  ///< h2 B and the reaction, where there is one
  Vector inverse;
  double largest = 0;              ///< eigenvalue, 0: not asked for yet
  std::pair<double, double> of{};  ///< the h1 and h2 that these belong to
  bool checked = false;            ///< whether method and preconditioner fit

  Impl(Space& s, const Constraint& c, const Coefficients& own, const SolverOptions& o)
      : space(s), constraint(c), coefficients(own), how(o), layout(layout_of(s, s.points_per_element())) {
    require(how.smoothing >= 1, "smoothers have degree 1 or more",
            {{"option", "smoothing"}, {"given", how.smoothing}, {"least", 1}});
    require(how.projection >= 0, "a projection keeps 0 solutions or more",
            {{"option", "projection"}, {"given", how.projection}, {"least", 0}});
    if (!coefficients.reaction.empty()) mass = space.vector();
    if (how.method == krylov::Method::conjugate_gradients) {
      conjugate_gradients.emplace(space.comm(), space.machine(), layout);
    } else {
      flexible_gmres.emplace(space.comm(), space.machine(), layout, how.restart);
    }
    if (how.projection > 0) projection.emplace(space.comm(), space.machine(), layout, how.projection);
    if (how.multigrid) multigrid.emplace(space, constraint, *how.multigrid, how.smoothing);
  }

  OperatorTerms terms() const {
    return {coefficients.factors.empty() ? nullptr : &coefficients.factors, mass.empty() ? nullptr : &mass};
  }
  /// The factor of what terms() has for B.
  double of_mass(double h2) const { return mass.empty() ? h2 : 1; }
  bool singular(double h2) const { return h2 == 0 && mass.empty() && !constraint.any(); }

  void prepare(double h1, double h2) {
    if (!inverse.empty() && of == std::pair{h1, h2}) return;
    for (std::size_t d = 0; d < mass.size(); ++d) {
      Sum sum;
      sum.add({h2, space.mass_matrix()[d].data()});
      sum.add({1, coefficients.reaction[d].data()});
      combine(space.streams()[d], sum, mass[d].data(), space.points(d));
    }
    inverse = space.inverse_diagonal(constraint.mask(), h1, of_mass(h2), terms());
    if (multigrid) multigrid->set_up(h1, of_mass(h2), terms(), singular(h2));
    if (projection) projection->forget();
    largest = 0;
    of = {h1, h2};
  }

  krylov::System system_of(double h1, double h2) {
    krylov::System system;
    // Not masked: weights and diagonal are zero at fixed points.
    system.apply = [this, h1, h2](const krylov::Vectors& in, const krylov::Vectors& out) {
      space.apply(in, out, h1, of_mass(h2), {}, terms());
    };
    system.apply_with_parts = [this, h1, h2](const krylov::Vectors& in, const krylov::Vectors& out,
                                             const krylov::Vectors& parts) {
      space.apply(in, out, h1, of_mass(h2), parts, terms());
    };
    if (multigrid)
      system.precondition = [this](const krylov::Vectors& r, const krylov::Vectors& z) { multigrid->apply(r, z); };
    system.weights = values(constraint.weights());
    system.inverse_diagonal = values(inverse);
    system.measure = values(space.mass_matrix());
    return system;
  }

  krylov::Fit fit(double h1, double h2) {
    prepare(h1, h2);
    krylov::Fit found = krylov::fit(space.comm(), space.machine(), layout, space.streams(), system_of(h1, h2));
    if (conjugate_gradients) krylov::require_fit(found);
    checked = true;
    return found;
  }

  krylov::Result solve(const Vector& b, Vector& x, double h1, double h2, krylov::Options options) {
    options.null_space = options.null_space || singular(h2);
    prepare(h1, h2);
    // Without multigrid the diagonal tells.
    if (multigrid && !checked) fit(h1, h2);
    krylov::System system = system_of(h1, h2);
    std::vector<Stream>& streams = space.streams();
    const krylov::Values right = values(b);
    const krylov::Vectors into = pointers(x);
    if (!multigrid && conjugate_gradients && options.preconditioner == krylov::Preconditioner::chebyshev) {
      if (largest == 0) largest = conjugate_gradients->largest_eigenvalue(streams, system);
      system.largest_eigenvalue = largest;
    }
    if (projection) {
      if (options.from_zero)
        for (std::size_t d = 0; d < x.size(); ++d)
          if (x[d].size() > 0) fill(streams[d], x[d].data(), 0, x[d].bytes());
      options.from_zero = false;
      projection->improve(streams, system, right, into);
    }
    krylov::Result result = conjugate_gradients ? conjugate_gradients->solve(streams, system, right, into, options)
                                                : flexible_gmres->solve(streams, system, right, into, options);
    if (projection && result.iterations > 0) projection->keep(streams, system, into);
    for (Stream& stream : streams) stream.synchronize();
    return result;
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
  return impl_->solve(b, x, h1, h2, std::move(options));
}

void HelmholtzSolver::apply(Vector& u, double h1, double h2) {
  impl_->prepare(h1, h2);
  impl_->space.helmholtz(u, u, h1, impl_->of_mass(h2), impl_->terms());
}

krylov::Fit HelmholtzSolver::fit(double h1, double h2) { return impl_->fit(h1, h2); }

krylov::Result solve(Space& space, const Constraint& constraint, const Vector& b, Vector& x, double h1, double h2,
                     krylov::Options options) {
  return HelmholtzSolver(space, constraint).solve(b, x, h1, h2, std::move(options));
}

}  // namespace slipstream::sem

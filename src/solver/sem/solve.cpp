// Poisson's and Helmholtz's equations: what Krylov methods need to know of elements.
#include <algorithm>
#include <optional>
#include <utility>

#include <slipstream/error.hpp>
#include <slipstream/sem.hpp>

#include "solver/sem/krylov_of.hpp"
#include "solver/sem/multigrid/multigrid.hpp"

namespace slipstream::sem {

struct HelmholtzSolver::Impl {
  Space& space;
  const Constraint& constraint;
  HelmholtzSolver::Options how;
  std::optional<krylov::ConjugateGradients> conjugate_gradients;
  std::optional<krylov::FlexibleGmres> flexible_gmres;
  std::optional<krylov::Projection> projection;
  std::optional<Multigrid> multigrid;
  Vector inverse;
  double largest = 0;              ///< eigenvalue, 0: not asked for yet
  std::pair<double, double> of{};  ///< the h1 and h2 that these belong to

  Impl(Space& s, const Constraint& c, HelmholtzSolver::Options o) : space(s), constraint(c), how(o) {
    require(how.smoothing >= 1, "smoothers have degree 1 or more",
            {{"option", "smoothing"}, {"given", how.smoothing}, {"least", 1}});
    require(how.projection >= 0, "a projection keeps 0 solutions or more",
            {{"option", "projection"}, {"given", how.projection}, {"least", 0}});
    const krylov::Layout layout = layout_of(space, space.points_per_element());
    if (how.method == krylov::Method::conjugate_gradients) {
      conjugate_gradients.emplace(space.comm(), space.machine(), layout);
    } else {
      flexible_gmres.emplace(space.comm(), space.machine(), layout, how.restart);
    }
    if (how.projection > 0) projection.emplace(space.comm(), space.machine(), layout, how.projection);
    if (how.multigrid) multigrid.emplace(space, constraint, *how.multigrid, how.smoothing);
  }

  krylov::System system_of(double h1, double h2) {
    krylov::System system;
    // Not masked: weights and diagonal are zero at fixed points.
    system.apply = [this, h1, h2](const krylov::Vectors& in, const krylov::Vectors& out) {
      space.apply(in, out, h1, h2);
    };
    system.apply_with_parts = [this, h1, h2](const krylov::Vectors& in, const krylov::Vectors& out,
                                             const krylov::Vectors& parts) { space.apply(in, out, h1, h2, parts); };
    if (multigrid)
      system.precondition = [this](const krylov::Vectors& r, const krylov::Vectors& z) { multigrid->apply(r, z); };
    system.weights = values(constraint.weights());
    system.inverse_diagonal = values(inverse);
    system.measure = values(space.mass_matrix());
    return system;
  }

  krylov::Result solve(const Vector& b, Vector& x, double h1, double h2, krylov::Options options) {
    options.null_space = options.null_space || (h2 == 0 && !constraint.any());
    if (inverse.empty() || of != std::pair{h1, h2}) {
      inverse = space.inverse_diagonal(constraint.mask(), h1, h2);
      largest = 0;
      if (multigrid) multigrid->set_up(h1, h2);
      if (projection) projection->forget();
    }
    of = {h1, h2};
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

HelmholtzSolver::HelmholtzSolver(Space& space, const Constraint& constraint)
    : HelmholtzSolver(space, constraint, Options{}) {}
HelmholtzSolver::HelmholtzSolver(Space& space, const Constraint& constraint, Options options)
    : impl_(std::make_unique<Impl>(space, constraint, options)) {}
HelmholtzSolver::~HelmholtzSolver() = default;
HelmholtzSolver::HelmholtzSolver(HelmholtzSolver&&) noexcept = default;

krylov::Result HelmholtzSolver::solve(const Vector& b, Vector& x, double h1, double h2, krylov::Options options) {
  return impl_->solve(b, x, h1, h2, std::move(options));
}

krylov::Result solve(Space& space, const Constraint& constraint, const Vector& b, Vector& x, double h1, double h2,
                     krylov::Options options) {
  return HelmholtzSolver(space, constraint).solve(b, x, h1, h2, std::move(options));
}

}  // namespace slipstream::sem

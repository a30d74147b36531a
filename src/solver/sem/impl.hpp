#pragma once
// State and tasks of a Sem.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <slipstream/block_sums.hpp>
#include <slipstream/sem_solver.hpp>

#include "solver/sem/element_parts.hpp"
#include "solver/sem/lifting.hpp"
#include "solver/sem/patches.hpp"

namespace slipstream::sem {

/// How many equal parts a time step is made in where it needs at least so many.
std::int64_t parts_for(double needed);

struct Sem::Impl : ElementParts {
  Impl(const Communicator& comm, const Machine& machine, Options options);

  struct Unknown;
  /// Unknowns that one solve has.
  struct Together;

  void list_velocity();
  void list_tasks();
  void right_side();
  void solve();
  double mean(const std::vector<double*>& u);
  /// The greatest magnitude on all ranks. Collective.
  double largest(const std::vector<std::vector<double>>& values) const;

  bool steps() const { return options.equation == Equation::diffusion; }
  /// Whether there is no earlier step for an initial guess, so that the solution starts from w.
  bool from_zero() const { return !steps() && state.step == 0; }
  /// Order in time of the next step or substep.
  int time_order_now();
  double time_step_now() { return options.time_step / static_cast<double>(parts_of(state.step)); }
  double time_now();
  Differences differences_now();
  /// Number of substeps of a step.
  std::int64_t parts_of(std::int64_t step);
  /// The steps' lengths, from that of a part on backward.
  double length_before(std::int64_t parts);
  /// The Courant number of the velocity at a time, for a time step of 1.
  Space::Fastest fastest(double time);
  void put_velocity(double time);
  void take_velocity(double time);
  /// Makes the remaining substeps after the first one.
  void go_on();

  Options options;
  /// The velocity, where there is one, at the points and as Space::carry makes it.
  struct Carrier {
    std::array<Vector, 3> at_points, fine;
    Vector advected;
    bool steady = true, carried = false;
    double time = 0;                         ///< of at_points
    std::map<double, Space::Fastest> known;  ///< by times
    double courant = 0;
  };
  std::optional<Carrier> carrier;
  /// For mean().
  struct Mean {
    explicit Mean(ElementParts& run);
    BlockSums sums;
    Vector parts, results, read;  ///< read: on the host
  };
  std::optional<Mean> of_all;
  std::vector<std::unique_ptr<Unknown>> unknowns;
  std::vector<std::unique_ptr<Together>> solves;
};

struct Sem::Impl::Unknown {
  Unknown(Impl& run, Scalar own);

  /// A patch with a flux, its points on one device of this rank.
  struct FluxPoints {
    const Patch* patch;
    std::size_t device;
    PatchPoints of;
    std::vector<Point> places;
  };

  void list_sides();
  /// Diffusivity, reaction and transfers, where they differ from point to point.
  Coefficients own_coefficients();
  /// Values of the start.
  void start();
  /// Sets f, the flux and the extended values for a time, as far as they change.
  void take_given(double time);
  void take_values(double time);
  /// The fluxes at each point, times the weights of its sides.
  std::vector<std::vector<double>> fluxes(double time);
  /// A constant near the next solution, which is subtracted from right side and unknown; the mean in a box without
  /// Dirichlet sides.
  double constant();
  /// Refuses insoluble right sides of Poisson's equation without a Dirichlet side. It removes an imbalance that comes
  /// from quadrature alone, as a finer rule shows, and warns.
  void balance();
  /// The integrals of source and fluxes by a rule.
  struct Supply {
    double source = 0, fluxes = 0;
  };
  Supply supply(const Rule& rule);
  /// Computes b of the next step, and the initial guess x.
  void right_side();
  /// b = b - int phi v . grad x.
  void advect();
  /// Stores the solution x.
  void take_solution(krylov::Result result);
  krylov::Options options_for(std::string field) const;
  /// Evaluates given functions at a time; throws NotSolved on all ranks if one fails.
  void ask(double time, const std::function<void()>& work);
  void put(const std::vector<double*>& to, const Function& function, double time);
  /// Values of own.start, by elements.
  void put_start(const std::vector<double*>& to);
  /// Throws NotSolved on all ranks if values that are given at a time are too large to compute with.
  void look_at(double largest, double time);
  /// The diffusivity; 1 if the factors contain it.
  double h1() const { return own.diffusivity_at ? 1 : own.diffusivity; }
  /// h2 of the step to come.
  double shift() { return run.steps() ? run.differences_now().now / run.time_step_now() : own.reaction; }
  /// Whether the unknown is determined up to a constant only.
  bool but_for_a_constant() const {
    return options.equation == Equation::poisson && !constraint.any() && coefficients.reaction.empty();
  }

  Impl& run;
  const Options& options;  ///< options that all unknowns share
  Scalar own;
  Space& space;
  const Communicator& comm;
  Patches patches;
  Constraint constraint;
  Coefficients coefficients;
  HelmholtzSolver* solver = nullptr;  ///< solver of its solve; the operator is that of this unknown
  Field u, u1, u2;
  /// u = w + x: w has the given values on Dirichlet sides, and extends them smoothly into the box.
  Vector f, b, x, flux, w;
  std::optional<Lifting> lifting;  ///< where some value is given
  double base = 0;                 ///< constant() of the current step
  bool flows = false;              ///< whether some flux is given
  bool taken = false;              ///< whether steady data were set
  /// Given values up to 2^800 (7e240), and from one over it on, leave room for the equation's own factors.
  static constexpr double most_given = 0x1p800;
  double largest_given = 0;  ///< so far
  std::vector<FluxPoints> flux_points;
  krylov::Effort effort;
  std::vector<std::string> cautions;
};

struct Sem::Impl::Together {
  Together(Impl& run, std::vector<Unknown*> all);
  /// Whether two unknowns may share a solve.
  static bool may_have(const Unknown& a, const Unknown& b);
  void solve();

  Impl& run;
  std::vector<Unknown*> unknowns;
  HelmholtzSolver solver;
  Vector b, x;  ///< of several unknowns, side by side
};

}  // namespace slipstream::sem

#pragma once
// State and tasks of the solver of Poisson's, Helmholtz's and the diffusion equation.
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

/// Number of equal substeps of a time step that needs at least `needed` of them.
std::int64_t parts_for(double needed);

struct Sem::Impl : ElementParts {
  Impl(const Communicator& comm, const Machine& machine, Options options);

  struct Unknown;
  /// A group of unknowns that are solved at once.
  struct Together;

  void list_velocity();
  void list_tasks();
  void right_side();
  void solve();
  double mean(const std::vector<double*>& u);
  /// The largest magnitude of the values on all ranks. Collective.
  double largest(const std::vector<std::vector<double>>& values) const;

  bool steps() const { return options.equation == Equation::diffusion; }
  /// Whether no earlier solution is the initial guess, so that the solver starts from interpolated Dirichlet values.
  bool from_zero() const { return !steps() && state.step == 0; }
  /// Order in time of the next step or substep.
  int time_order_now();
  double time_step_now() { return options.time_step / static_cast<double>(parts_of(state.step)); }
  double time_now();
  Differences differences_now();
  /// Number of substeps into which time step number `step` is divided.
  std::int64_t parts_of(std::int64_t step);
  /// Length of the substep that lies `parts` substeps before the next one.
  double length_before(std::int64_t parts);
  /// Courant number of the velocity at a time, for a time step of 1.
  Space::Fastest fastest(double time);
  void put_velocity(double time);
  void take_velocity(double time);
  /// Makes all but the first of the substeps into which a time step is divided to keep to the target Courant number.
  void go_on();

  Options options;
  /// The user's velocity that advects the unknowns: `at_points` of the elements, and `fine` at points for advection.
  struct Carrier {
    std::array<Vector, 3> at_points, fine;
    Vector advected;
    bool steady = true, carried = false;
    double time = 0;                         ///< time for which at_points holds the velocity
    std::map<double, Space::Fastest> known;  ///< largest Courant numbers, by time
    double courant = 0;
  };
  std::optional<Carrier> carrier;
  /// Sums over blocks of elements, with their memory, for the mean of an unknown.
  struct Mean {
    explicit Mean(ElementParts& run);
    BlockSums sums;
    Vector parts, results, read;  ///< integral of an unknown, and volume: by element block, in total, total on the host
  };
  std::optional<Mean> of_all;
  std::vector<std::unique_ptr<Unknown>> unknowns;
  std::vector<std::unique_ptr<Together>> solves;
};

struct Sem::Impl::Unknown {
  Unknown(Impl& run, Scalar own);

  /// A patch with a flux, and its points on one device of this rank.
  struct FluxPoints {
    const Patch* patch;
    std::size_t device;
    PatchPoints of;
    std::vector<Point> places;
  };

  void list_sides();
  /// Diffusivity, reaction and transfer coefficients of an unknown, if they vary from point to point.
  Coefficients own_coefficients();
  /// Sets the unknown's initial values.
  void start();
  /// Evaluates source and fluxes at a time, and extends Dirichlet values into the domain; steady ones only once.
  void take_given(double time);
  void take_values(double time);
  /// Fluxes at each point, times the quadrature weights of the sides.
  std::vector<std::vector<double>> fluxes(double time);
  /// A constant near the next solution, which is subtracted from right side and unknown. It is the mean in a box
  /// without Dirichlet sides.
  double constant();
  /// Refuses insoluble right sides of Poisson's equation without a Dirichlet side. An imbalance that comes from
  /// quadrature alone, as a finer rule shows, is removed with a warning.
  void balance();
  /// Integrals of source and fluxes by one quadrature rule.
  struct Supply {
    double source = 0, fluxes = 0;
  };
  Supply supply(const Rule& rule);
  /// Computes the right side b of the next step, and the initial guess x.
  void right_side();
  /// Subtracts the advection term, integrals of test functions times velocity . grad(unknown), from the right side b.
  void advect();
  /// Stores the solution x of a step as the unknown's new values.
  void take_solution(krylov::Result result);
  krylov::Options options_for(std::string field) const;
  /// Evaluates user functions, such as boundary values, at a time; throws NotSolved on all ranks if one fails.
  void ask(double time, const std::function<void()>& work);
  void put(const std::vector<double*>& to, const Function& function, double time);
  /// Sets `to` to the initial values that the option `start` gives for ranges of elements.
  void put_start(const std::vector<double*>& to);
  /// Throws NotSolved on all ranks if a boundary, initial, source or velocity value is too large to compute with.
  void look_at(double largest, double time);
  /// Factor h1 of the stiffness matrix: the diffusivity, or 1 if it varies and the geometric factors contain it.
  double h1() const { return own.diffusivity_at ? 1 : own.diffusivity; }
  /// Factor h2 of the mass term in the next step's system.
  double shift() { return run.steps() ? run.differences_now().now / run.time_step_now() : own.reaction; }
  /// Whether the unknown is determined up to a constant only.
  bool but_for_a_constant() const {
    return options.equation == Equation::poisson && !constraint.any() && coefficients.reaction.empty();
  }

  Impl& run;
  const Options& options;  ///< options common to all unknowns
  Scalar own;
  Space& space;
  const Communicator& comm;
  Patches patches;
  Constraint constraint;
  Coefficients coefficients;
  /// linear solver of this unknown, shared by unknowns that are solved together because their operators are equal
  HelmholtzSolver* solver = nullptr;
  Field u, u1, u2;
  /// The unknown is u = w + x: w has the given values on Dirichlet sides, and extends them smoothly into the box.
  Vector f, b, x, flux, w;
  std::optional<Lifting> lifting;  ///< extension of the given Dirichlet values into the box; empty if none are given
  double base = 0;                 ///< constant subtracted from unknown and right side in this step
  bool flows = false;              ///< whether a flux is given on some side
  bool taken = false;              ///< whether data that do not depend on time were evaluated
  /// Limit on given values, 2^800 (7e240), and on their inverses. It leaves room for the equation's own factors.
  static constexpr double most_given = 0x1p800;
  double largest_given = 0;  ///< largest magnitude so far of the equation's data, such as sources and boundary values
  std::vector<FluxPoints> flux_points;
  krylov::Effort effort;
  std::vector<std::string> cautions;
};

struct Sem::Impl::Together {
  Together(Impl& run, std::vector<Unknown*> all);
  /// Whether two unknowns may be solved together.
  static bool may_have(const Unknown& a, const Unknown& b);
  void solve();

  Impl& run;
  std::vector<Unknown*> unknowns;
  HelmholtzSolver solver;
  Vector b, x;  ///< vectors of all unknowns, one after the other
};

}  // namespace slipstream::sem

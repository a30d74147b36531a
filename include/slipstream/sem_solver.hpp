#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <slipstream/sem.hpp>
#include <slipstream/solver.hpp>

namespace slipstream::sem {

/// With kappa the diffusivity, c the reaction and f the source:
///
///     poisson:    -kappa Lap u = f
///     helmholtz:  -kappa Lap u + c u = f
///     diffusion:  du/dt + v . grad u = kappa Lap u + f, v given (none: 0)
enum class Equation : std::uint8_t { poisson, helmholtz, diffusion };
Equation equation_from_string(const std::string& name);

/// Boundary condition on a side of the box. periodic: joined to the opposite side. value: u is given (Dirichlet). flux:
/// kappa du/dn is given, n outward (Neumann).
enum class Condition : std::uint8_t { periodic, value, flux };

/// Function of position and time: returns its values at the given points and time, in the order of the points.
using Function = std::function<std::vector<double>(std::span<const Point>, double time)>;
struct Given {
  Function at = {};    ///< function that gives boundary values, a source or a velocity; none: zero
  bool steady = true;  ///< whether `at` is constant in time, so that the host evaluates it once, not at each step
};

struct Side {
  Condition condition = Condition::value;
  Given given = {};
  /// Coefficient a >= 0 of a flux kappa du/dn + a u = g (Robin), which may depend on coordinates only; none: 0.
  Function transfer = {};
  /// A function that is above 0 at the centres of the elements' faces on which the condition holds; none: all faces.
  /// Other faces take the first of `otherwise` that holds there. Periodic sides have neither.
  Function where = {};
  std::vector<Side> otherwise = {};
};
using Sides = std::array<std::array<Side, 2>, 3>;  ///< boundary conditions by axis: low side, high side

/// Equation data and solver options of one scalar unknown.
struct Scalar {
  std::string name = "u";
  double diffusivity = 1, reaction = 0;
  Function diffusivity_at = {},
           /// functions of coordinates in place of `diffusivity` and `reaction`; diffusivity_at needs Factors::stored
      reaction_at = {};
  Sides sides;
  Given source;
  Function initial = {};  ///< values of a diffusing unknown at time 0; also before it if exact_start is set; none: zero
  /// Replaces `initial`: values at time 0 at the points of elements [first, last). Not with exact_start.
  std::function<std::vector<double>(std::int64_t first, std::int64_t last)> start = {};
  krylov::Options krylov;
  SolverOptions solver;
};

/// Options of a run on spectral elements: those of the first unknown, and those that all unknowns share.
struct Options : Scalar {
  std::array<std::int64_t, 3> elements{1, 1, 1};
  Point lengths{1, 1, 1};  ///< edges of the box, which begins at 0
  Point stretch{1, 1, 1};
  double deform = 0;
  Map map = {};  ///< map of the stretched and deformed box to its final shape; none: identity
  int order = 7;
  Factors factors = Factors::stored;
  Equation equation = Equation::poisson;
  /// Further unknowns of the same equation, with their own names, on the same periodic axes. Unknowns with the same
  /// diffusivity, reaction, Dirichlet faces and solver are solved together (SolverOptions::components).
  std::vector<Scalar> more = {};
  /// Advecting velocity of all unknowns in diffusion, x, y and z. Where it depends on time it is evaluated at each
  /// step, on the host.
  std::array<Given, 3> velocity = {};
  /// Above 0: splits each time step into 1, 2, 3, 4, 6, 8, 12 and so on equal parts. It takes the fewest that keep the
  /// Courant numbers, with the velocities at both ends, below this.
  double target_courant = 0;
  double time_step = 1;  ///< length of a step; steady equations solve once per step, whatever its length
  int time_order = 2;    ///< order of the backward differences, 1 to 3
  /// The first steps have the full order, with the values of `initial` at the times -time_step and -2 time_step. Else
  /// step n has order min(n, time_order), which leaves an error of order 2 in the time step.
  bool exact_start = false;
  ExchangeOptions exchange;
  std::optional<TuneOptions> tune = {};  ///< how to tune the routes of sums over shared points; none: by rules
};
/// The options of all unknowns: of the first one, then of those in Options::more.
std::vector<Scalar> scalars_of(const Options& options);

/// Statistics of an unknown u over the domain at one time.
struct Statistics {
  double volume = 0, mean = 0, least = 0, largest = 0;
  double distance = 0;     ///< relative L2 error against a given function e: root of int (u - e)^2 over int e^2
  double largest_off = 0;  ///< largest deviation of u from the given function at a point
};

struct ElementParts;

/// Base of the solvers on spectral elements.
class ElementSolver : public Solver {
 public:
  /// Throws krylov::NotSolved where a linear solve does not converge (unless the options allow that), and where given
  /// data throw. Throws Diverged, with element and place, where a guard finds a value that is not finite.
  void advance(std::int64_t steps) override;
  void inspect() override;
  void finish_step() override;
  std::vector<ReportRow> report() override;  ///< messages of the last sums over elements, with their times
  const Tuning& tuning() const override;
  const Grid& grid() const override;
  Space& space();
  /// Values of a component of a field of the state at the probe's points, on every rank.
  std::vector<double> at(Probe& probe, const std::string& field, std::size_t component = 0);
  /// Warnings about input that may not be intended. Not collective.
  virtual std::vector<std::string> cautions() const = 0;
  /// The largest |du/dt| of the last step over all components and unknowns.
  virtual double largest_change() = 0;
  /// Courant number of the last step or part of one; 0 without a velocity.
  virtual double courant() const = 0;

 protected:
  explicit ElementSolver(std::unique_ptr<ElementParts> parts);

 private:
  ElementParts& elements_;
};

/// Poisson's, Helmholtz's and the diffusion equation on spectral elements.
///
/// Diffusion (diffusivity kappa, source f) uses backward differences (BDF) of order k, step dt, b_0 = 1, 3/2, 11/6:
///
///     (b_0 u^{n+1} - sum over j = 1..k of b_j u^{n+1-j}) / dt = kappa Lap u^{n+1} + f^{n+1},
///
/// Each step solves one Helmholtz problem,
///
///     H u = M Q Q^T (B (f + sum b_j u_j / dt) + S g),    H = M Q Q^T (kappa A + b_0 / dt B).
///
/// M is 0 at Dirichlet points and 1 elsewhere. Q Q^T sums over the elements that share a point. A is the stiffness
/// matrix, B the mass matrix. S is the quadrature over the sides with the given flux g. The solution is u = w + v, so
/// that H v is the right side minus H w. The function w has the given values at Dirichlet points. It continues smoothly
/// inside, by transfinite interpolation (Gordon & Hall 1973). Right side and tolerance do not include a constant that
/// all data share. v starts from extrapolation of order k; for the steady equations from 0. Data times a power of two
/// give the same bits, scaled, from 2^-700 to 2^700.
///
/// The state has u; for diffusion of order 2 and 3 also u1 and u2, of one and two steps before. Other unknowns use
/// their names instead of u. Its grid is plan_grid().
///
/// k = 1, 2 are stable for all steps. k = 3 is, too, because diffusion's eigenvalues are real (Hairer & Wanner 1996,
/// V.1). Advection is explicit: Space::advect of v^{n+1} and of u extrapolated to the new time. It is of order k, and
/// stable up to largest_courant(). Steps of different length have the coefficients of their own times. Bits depend only
/// on the elements. All calls are collective, except those that say otherwise.
class Sem final : public ElementSolver {
 public:
  /// Throws Error that names element and place where a diffusivity is not positive, or a reaction or a transfer is
  /// negative. Throws the errors of Space, and Error where a side has no condition somewhere. Poisson's equation
  /// without a Dirichlet side needs a right side that sums to zero. Data must not exceed 2^800, and some must be above
  /// 2^-800; a step whose data exceed it throws krylov::NotSolved.
  Sem(const Communicator& comm, const Machine& machine, Options options);
  /// Warns of sides whose given values differ at a shared edge.
  std::vector<std::string> cautions() const override;

  /// Statistics of unknown number `scalar`. `exact`: the exact solution now, for error norms; none: no error norms.
  Statistics statistics(const Function& exact = {}, std::size_t scalar = 0);
  /// The largest |du/dt| of the last step; for steady equations the largest true residual.
  double largest_change() override;
  double courant() const override;
  /// Counts of the linear solves of an unknown in all steps so far; a restart begins at zero.
  const krylov::Effort& effort(std::size_t scalar = 0) const;
  /// Measures symmetry and cost of operator and preconditioner of the next step. Collective.
  krylov::Fit fit(std::size_t scalar = 0);

  std::vector<Watched> watched() override;
  const Options& options() const;

 private:
  struct Impl;
  Impl* impl_;
};

ElementBox box_of(const Options& options);
/// Checks options of the spectral-element solver: throws Error if they are invalid or do not fit together.
void check(const Options& options);
/// Throws Error, with element and place, where an element is inverted or has not the shape that the factors need. Works
/// on the host, on a few elements at a time.
void check_elements(const Options& options);
/// The grid of the values: points of an element along x, elements along y. Each device with elements has one block.
Grid plan_grid(const Machine& machine, const Options& options, int rank = 0);
/// Memory that a run needs, by device; computed without allocating.
std::vector<ArrayBytes> memory_needed(const Machine& machine, const Options& options);
/// Memory traffic of a conjugate gradient iteration in bytes per point.
int bytes_per_point(const Options& options);

/// Courant number above which advection by backward differences with extrapolation of order 3 is unstable, by the
/// elements' order. Orders 1 and 2 are weakly unstable below it, too, where diffusion does not damp them.
double largest_courant(int order);

/// Coefficients b_0 .. b_k of backward differences of order k, and the k weights of extrapolation to the new time.
struct Differences {
  double now = 1;
  std::array<double, 3> before{}, extrapolated{};
};
/// Returns coefficients of a backward difference for d/dt and of extrapolation in time, from Lagrange's polynomials.
/// `steps`: lengths of the new time step, then of those before; only their ratios matter.
Differences backward_differences(int order, const std::array<double, 3>& steps = {1, 1, 1});

}  // namespace slipstream::sem

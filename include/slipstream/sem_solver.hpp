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
#include <slipstream/simulation.hpp>
#include <slipstream/tuner.hpp>

namespace slipstream::sem {

/// With kappa the diffusivity, c the reaction and f the source:
///
///     poisson:    -kappa Lap u = f
///     helmholtz:  -kappa Lap u + c u = f
///     diffusion:  du/dt + v . grad u = kappa Lap u + f, v given (none: 0)
enum class Equation : std::uint8_t { poisson, helmholtz, diffusion };
Equation equation_from_string(const std::string& name);

/// What holds on a side: it is the opposite one, u is given (Dirichlet), or kappa du/dn is, n outward (Neumann).
enum class Condition : std::uint8_t { periodic, value, flux };

/// Numbers at points at a time, in the order of the points.
using Function = std::function<std::vector<double>(std::span<const Point>, double time)>;
struct Given {
  Function at = {};    ///< none: zero
  bool steady = true;  ///< whether it is asked for once; else for each step, on the host
};

struct Side {
  Condition condition = Condition::value;
  Given given = {};
  /// a >= 0 of a flux kappa du/dn + a u = g (Robin), by places alone; none: 0.
  Function transfer = {};
  /// Above 0 at the centres of the elements' faces on which the condition holds; none: all. On the others the first of
  /// `otherwise` counts that holds there. Periodic sides have neither.
  Function where = {};
  std::vector<Side> otherwise = {};
};
using Sides = std::array<std::array<Side, 2>, 3>;  ///< of an axis: low, high

/// An unknown: all that belongs to it alone.
struct Scalar {
  std::string name = "u";
  double diffusivity = 1, reaction = 0;
  Function diffusivity_at = {},
           reaction_at = {};  ///< of places alone, instead of the numbers; the first needs Factors::stored
  Sides sides;
  Given source;
  Function initial = {};  ///< of diffusion at time 0 (and, with exact_start, before); none: zero
  /// In place of `initial`: values at time 0 at the points of elements [first, last); cannot go with exact_start.
  std::function<std::vector<double>(std::int64_t first, std::int64_t last)> start = {};
  krylov::Options krylov;
  SolverOptions solver;
};

/// The first unknown, and all that unknowns share.
struct Options : Scalar {
  std::array<std::int64_t, 3> elements{1, 1, 1};
  Point lengths{1, 1, 1};  ///< edges of the box, which begins at 0
  Point stretch{1, 1, 1};
  double deform = 0;
  Map map = {};  ///< of the box, stretched and deformed; none: it stays
  int order = 7;
  Factors factors = Factors::stored;
  Equation equation = Equation::poisson;
  /// Further unknowns of the same equation, with names of their own, on the same periodic axes. Those that share
  /// diffusivity, reaction, Dirichlet faces and solver are solved for together (SolverOptions::components).
  std::vector<Scalar> more = {};
  /// Carries all unknowns in diffusion, x, y and z; where it depends on the time it is asked for at each step, on the
  /// host.
  std::array<Given, 3> velocity = {};
  /// Above 0: each time step is made in 1, 2, 3, 4, 6, 8, 12 and so on equal parts. They are as few as keep the Courant
  /// numbers of the velocities at its two ends at this.
  double target_courant = 0;
  double time_step = 1;  ///< of the other equations, whose step is one solution, it is only counted
  int time_order = 2;    ///< 1 to 3, of the backward differences
  /// The first steps are of the full order, from what `initial` gives for the times -time_step and -2 time_step; else
  /// step n is of order min(n, time_order), and an error of order 2 in the time step stays.
  bool exact_start = false;
  ExchangeOptions exchange;
  std::optional<TuneOptions> tune = {};  ///< measure how sums travel; none: by rules
};
/// All unknowns, the first one first.
std::vector<Scalar> scalars_of(const Options& options);

/// Of one moment, over the domain.
struct Statistics {
  double volume = 0, mean = 0, least = 0, largest = 0;
  double distance = 0;     ///< from a given function: root of int (u - e)^2 over int e^2, by the elements' quadrature
  double largest_off = 0;  ///< greatest |u - e| at a point
};

/// Poisson's, Helmholtz's and the diffusion equation on spectral elements.
///
/// Diffusion goes by backward differences of order k with the step dt, b_0 = 1 / 3/2 / 11/6:
///
///     (b_0 u^{n+1} - sum over j = 1..k of b_j u^{n+1-j}) / dt = kappa Lap u^{n+1} + f^{n+1},
///
/// a Helmholtz problem a step: H u = M Q Q^T (B (f + sum b_j u_j / dt) + S g), H = M Q Q^T (kappa A + b_0 / dt B), with
/// S the quadrature over the sides through which the flux g is given. With w that has the given values at Dirichlet
/// points and goes smoothly on within, u = w + v and H v = ... - H w: lifting by transfinite interpolation (Gordon &
/// Hall 1973). Right side and tolerance do not contain a constant that all data share. v starts from what extrapolation
/// of order k gives; of the other equations from 0.
///
/// Data times a power of two give the same bits, scaled, from 2^-700 to 2^700.
///
/// k = 1, 2 are stable for all steps, k = 3 too, since diffusion's eigenvalues are real (Hairer & Wanner 1996, V.1).
/// Advection goes to the right side, by Space::advect of v^{n+1} and of u extrapolated to the new time: of order k, and
/// stable up to largest_courant(). Steps of different length have the coefficients of their own times.
/// Bits depend on the elements and on nothing else. All calls but those that say otherwise are collective.
class Sem final : public Simulation {
 public:
  /// Throws Error that names element and place where a diffusivity is not positive, or a reaction or a transfer
  /// negative. It throws what Space throws, and a side without a condition somewhere. It throws, too, of Poisson's
  /// equation without a Dirichlet side, a right side that does not sum to zero; data above 2^800, or nowhere above
  /// 2^-800.
  Sem(const Communicator& comm, const Machine& machine, Options options);
  ~Sem() override;

  /// Throws krylov::NotSolved where conjugate gradients do not converge (unless options.krylov says to go on) or break
  /// down, and where given data throw or are beyond 2^800. Throws Diverged where a guard finds a value that is not
  /// finite.
  void advance(std::int64_t steps);
  /// From now on u is inspected every so many steps.
  void guard(std::int64_t every);
  /// Inspects what the last step left, and throws Diverged; does nothing without a guard.
  void inspect();
  /// What may be meant otherwise: sides whose given values differ at an edge that they share. Not collective.
  std::vector<std::string> cautions() const;

  /// `scalar`: the number of the unknown. `exact`: at this time; none: no distance.
  Statistics statistics(const Function& exact = {}, std::size_t scalar = 0);
  /// The greatest |du/dt| of the last step over all unknowns; of the other equations the greatest true residual.
  double largest_change();
  /// Courant number of the last step or part of one; 0 without a velocity.
  double courant() const;
  /// A field of the state at points; by point, on every rank.
  std::vector<double> at(Probe& probe, const std::string& field);
  /// The linear solutions of an unknown in all steps so far; a restart begins anew.
  const krylov::Effort& effort(std::size_t scalar = 0) const;
  /// Operator and preconditioner of the step to come, measured. Collective.
  krylov::Fit fit(std::size_t scalar = 0);

  /// u, and of diffusion of order 2 and 3 u1 and u2, of one and two steps ago; so with each unknown's name. On the grid
  /// of plan_grid().
  State& state() override;
  const std::vector<Device>& devices() const override;
  const Tasks& tasks() const override;
  void finish_step() override;
  std::vector<Watched> watched() override;
  TimeLoop& time_loop();
  Space& space();
  const Grid& grid() const;
  const Options& options() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

ElementBox box_of(const Options& options);
/// Throws Error where options cannot make a run.
void check(const Options& options);
/// Throws Error, with element and place, where an element is turned inside out or is not of the shape that the factors
/// need. On the host, a few elements at a time.
void check_elements(const Options& options);
/// Values as a grid: along x the points of an element, along y the elements; a block a device that has elements.
Grid plan_grid(const Machine& machine, const Options& options, int rank = 0);
/// By device; computed without allocating.
std::vector<ArrayBytes> memory_needed(const Machine& machine, const Options& options);
/// Bytes a point that an iteration of conjugate gradients moves.
int bytes_per_point(const Options& options);

/// Courant number above which backward differences with extrapolation of order 3 let advection grow, by the elements'
/// order. Orders 1 and 2 let it grow slowly below, too, where diffusion does not damp it.
double largest_courant(int order);

/// b_0 .. b_k of backward differences of order k, and the k weights that extrapolate to the new time.
struct Differences {
  double now = 1;
  std::array<double, 3> before{}, extrapolated{};
};
/// `steps`: the new one, then those before, whose ratios count: from Lagrange's polynomials through the times.
Differences backward_differences(int order, const std::array<double, 3>& steps = {1, 1, 1});

}  // namespace slipstream::sem

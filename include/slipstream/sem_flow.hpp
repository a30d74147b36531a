#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/sem_solver.hpp>

namespace slipstream::sem {

/// Boundary condition on a side of the box. `periodic` joins it to the opposite side. `velocity` is given, on a wall or
/// an inlet. `symmetry` means no flow through the side and no friction along it.
enum class FlowCondition : std::uint8_t { periodic, velocity, symmetry };

struct FlowSide {
  FlowCondition condition = FlowCondition::velocity;
  std::array<Given, 3> velocity = {};  ///< functions for the boundary velocity along x, y, z on this side; none: zero
  /// A function that is above 0 at the centres of the faces on which the condition holds, as Side::where.
  Function where = {};
  std::vector<FlowSide> otherwise = {};
};
using FlowSides = std::array<std::array<FlowSide, 2>, 3>;  ///< boundary conditions by axis: low side, high side

struct FlowOptions {
  std::array<std::int64_t, 3> elements{1, 1, 1};
  Point lengths{1, 1, 1};  ///< edges of the box, which begins at 0
  Point stretch{1, 1, 1};
  double deform = 0;
  Map map = {};
  int order = 7;
  Factors factors = Factors::stored;
  double viscosity = 1;  ///< kinematic viscosity
  FlowSides sides;
  std::array<Given, 3> force = {};  ///< force on the fluid per mass
  /// The velocity at time 0 within the box; none: zero. With exact_start it is also evaluated on the sides, and at
  /// earlier times.
  std::array<Function, 3> initial = {};
  double time_step = 1;
  int time_order = 3;  ///< order of the time scheme, 1 to 3
  /// The first steps have the full order, with the values of `initial` at earlier times. Else step n has order min(n,
  /// time_order), which leaves an error of order 2 in the time step.
  bool exact_start = false;
  /// Above 0: splits each time step into 1, 2, 3, 4, 6, 8, 12 and so on equal parts. It takes the fewest that keep the
  /// Courant number, with the velocity at the start, below this.
  double target_courant = 0;
  /// Damps the highest modes by du/dt = - filter (u - G u), G as Space::filter makes it with strength 1; 0: none.
  double filter = 0;
  int filter_modes = 1;
  /// Damps the divergence after each time step by explicit steps of Space::grad_div_step(). Their factors add up to
  /// this, each at most 1; 0: none. The projection makes the divergence orthogonal to continuous polynomials only. The
  /// rest grows where the elements are coarse (Fehn et al. 2018, J. Comput. Phys. 372).
  double divergence_damping = 1;
  /// The Courant number that ends a run; none: largest_courant(), above which advection by a uniform velocity grows.
  std::optional<double> courant_limit = {};
  /// Solves end where the root mean square residual, sqrt((r, r) / volume), is at most this; r is an integral.
  double pressure_tolerance = 1e-5, velocity_tolerance = 1e-7;
  int most_iterations = 1000;
  bool must_converge = true;  ///< whether to throw where a linear solve does not converge; false: the solve is counted
  SolverOptions pressure{.preconditioner = Preconditioner::schwarz, .degree = 2, .projection = 10};
  SolverOptions velocity{};  ///< solver of the velocity; default: Jacobi
  /// Running means of velocity, pressure and products of velocity components start at this time; none: no means.
  std::optional<double> mean_from = {};
  ExchangeOptions exchange;
  std::optional<TuneOptions> tune = {};  ///< how to tune the routes of sums over shared points; none: by rules
};

/// Forces of the fluid on a side of the box, over density. `pressure` is int p n dS. `viscous` is - int nu (grad u +
/// grad u^T) n dS. Here n is the outward normal.
struct SideForce {
  std::size_t axis = 0, end = 0;
  Point pressure{0, 0, 0}, viscous{0, 0, 0};
};
/// Means over a plane of points normal to an axis.
struct PlaneMeans {
  double place = 0;  ///< coordinate of the averaging plane along its normal axis
  Point velocity{0, 0, 0};
  double pressure = 0;
  Point squares{0, 0, 0};   ///< means of u u, v v and w w; the mean velocity is not subtracted
  Point products{0, 0, 0};  ///< means of u v, u w and v w; the mean velocity is not subtracted
};

/// Means over the domain at one time, by the elements' quadrature.
struct FlowStatistics {
  double volume = 0;
  double energy = 0;       ///< kinetic energy u . u / 2
  double enstrophy = 0;    ///< enstrophy curl u . curl u / 2
  double dissipation = 0;  ///< dissipation rate 2 nu S : S, with the rate of strain S
  double decay = 0;        ///< decay of the energy, -d energy / dt, from the velocities of three steps
  /// relative divergence: root of int (div u)^2 over int grad u : grad u; 0 where the latter is 0
  double divergence = 0;
  Point mean{0, 0, 0};      ///< mean velocity over the volume of the domain
  double distance = 0;      ///< relative L2 error against a given velocity e: root of int (u - e)^2 over int e^2
  double largest_off = 0;   ///< largest error of a velocity component at a point, against the exact solution
  double pressure_off = 0;  ///< relative L2 error against a given pressure, both less their means
};
/// Exact velocity and pressure for FlowStatistics to compare with; none: no comparison.
struct FlowSolution {
  std::array<Function, 3> velocity = {};
  Function pressure = {};
};

/// Incompressible Navier-Stokes equations on spectral elements, velocity and pressure of one order (Pn-Pn):
///
///     du/dt + u . grad u = - grad p + nu Lap u + f,    div u = 0.
///
/// A step of order k, with backward differences b_j and extrapolation u* = sum of a_j u^{n+1-j} (Differences):
///
///     g   = f + sum of b_j u^{n+1-j} / dt - u* . grad u* - nu curl curl u*
///     Lap p = div g,   dp/dn = n . (g - b_0 u^{n+1} / dt)                     one Poisson problem
///     (b_0 / dt - nu Lap) u^{n+1} = g + nu curl curl u* - grad p              three Helmholtz problems
///
/// all in the weak form. curl curl u* in place of -Lap u* keeps the splitting error at the order k at walls. Advection
/// is dealiased (Space::advect). Both solves start from extrapolated values. The pressure has the mean zero after each
/// step. Sources: Karniadakis, Israeli & Orszag 1991, J. Comput. Phys. 97; Tomboulides, Lee & Orszag 1997,
/// J. Sci. Comput. 12.
///
/// The state is velocity, velocity1, velocity2 (of one and two steps before), pressure and pressure1. Running means add
/// mean_velocity, mean_pressure, mean_squares (uu vv ww) and mean_products (uv uw vw). Projection adds
/// earlier_pressures, with SolverOptions::projection components, of which Past::earlier are solutions. Bits of the
/// state depend only on the elements. All calls are collective, except those that say otherwise.
class Flow final : public ElementSolver {
 public:
  /// Throws the errors of Space. Throws Error where a side has no condition somewhere, or where a symmetry side is not
  /// a plane normal to an axis. The error has the fact "problem" = "balance" where inflow and outflow differ. A step
  /// throws krylov::NotSolved with this fact where they come to differ. It throws it with "problem" = "courant" above
  /// the limit of Courant numbers.
  Flow(const Communicator& comm, const Machine& machine, FlowOptions options);

  FlowStatistics statistics(const FlowSolution& exact = {});
  /// Forces on all sides that are not periodic, x- to z+.
  std::vector<SideForce> forces();
  /// Means over planes normal to an axis, low to high: of the running means if there are any, else of the current
  /// fields. In a curved box a plane is a set of points with one number along the axis.
  std::vector<PlaneMeans> planes(std::size_t axis);
  std::vector<std::string> cautions() const override;
  double largest_change() override;
  double courant() const override;
  /// Counts of the linear solves of all steps so far; a restart begins at zero.
  const krylov::Effort& pressure_effort() const;
  const krylov::Effort& velocity_effort() const;
  /// Measures symmetry and cost of the pressure's operator and preconditioner.
  krylov::Fit fit();
  /// Data that a restart needs besides the state: lengths of the last two steps or substeps, their number, and more.
  struct Past {
    double last = 0, before = 0;
    std::int64_t count = 0;
    double averaged = 0;  ///< time interval of the running means so far
    int earlier = 0;      ///< number of earlier pressure solutions for the first guess
  };
  Past past() const;
  void set_past(const Past& past);

  std::vector<Watched> watched() override;
  const FlowOptions& options() const;

 private:
  struct Impl;
  Impl* impl_;
};

/// The options of one velocity component as a diffusion equation: box, sides and steps.
Options component_of(const FlowOptions& options, std::size_t component);
/// Throws Error where options cannot make a run.
void check(const FlowOptions& options);
/// Memory that a run needs, by device; computed without allocating.
std::vector<ArrayBytes> memory_needed(const Machine& machine, const FlowOptions& options);
/// Memory traffic of a pressure iteration in bytes per point.
int bytes_per_point(const FlowOptions& options);

}  // namespace slipstream::sem

#pragma once
// State and tasks of an incompressible flow.
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/block_sums.hpp>
#include <slipstream/sem_flow.hpp>

#include "solver/sem/element_parts.hpp"
#include "solver/sem/lifting.hpp"
#include "solver/sem/patches.hpp"

namespace slipstream::sem {

using Triple = std::array<Vector, 3>;

struct Flow::Impl : ElementParts {
  Impl(const Communicator& comm, const Machine& machine, FlowOptions options);

  /// A component of the velocity: the points where it is fixed, and its values there.
  struct Component {
    Component(Space& space, const FlowOptions& options, std::size_t number);
    Patches patches;
    Constraint constraint;
    std::optional<Lifting> lifting;  ///< extension of the values given on sides, if any
    Vector values;                   ///< given values at fixed points, 0 elsewhere
    bool steady = true;
    Vector force;
  };
  /// Velocity components that are fixed at the same points: one solve has all of them.
  struct Together {
    std::vector<std::size_t> components;
    HelmholtzSolver solver;
    Vector right, x;  ///< right side and solution, one component after the other
  };
  /// Points on one device of this rank of a patch where the velocity is given.
  struct Through {
    const FlowSide* side;
    std::size_t device;
    std::vector<std::int64_t> points;
    std::vector<Point> areas, places;
  };

  void list_solvers();
  void list_sides();
  void list_tasks();
  void start();

  /// Updates forces, values on sides and the flow through sides to a time, if they change.
  void take_given(double time);
  /// Integrates phi n . u over the sides at a time, for the basis function phi of each point.
  void take_surface(double time);
  /// Throws unless inflow and outflow are equal. `along`: sum of speed times area of all given velocities.
  void balance(double in, double out, double along);
  using ElementParts::put;
  void put(const std::vector<double*>& to, const Function& function, double time, const char* field);
  void ask(double time, const char* field, const std::function<void()>& work);

  /// Computes u*, the extrapolated velocity, its advection, and all terms of the right side except the pressure.
  void explicit_terms();
  void take_courant();
  void solve_pressure();
  void solve_velocity();
  /// Solves Helmholtz equations for the difference between each velocity component and its extrapolation in time.
  void solve_components(double h2);
  /// Component n of a vector that holds several components one after the other.
  std::vector<double*> component(const Vector& vector, std::size_t n) const;
  void damp_divergence();
  /// Makes all but the first of the substeps into which a time step is divided to keep to the target Courant number.
  void go_on();
  void choose_parts();

  SolverOptions of_pressure();
  krylov::Options how(double tolerance, const char* field) const;

  int time_order_now() const;
  double length() const { return options.time_step / static_cast<double>(parts); }
  Differences differences_now() const;
  double time_now() const;
  const Field& level(int n) const { return n == 0 ? velocity : n == 1 ? velocity1 : velocity2; }

  FlowOptions options;
  std::vector<Component> components;
  Constraint free;  ///< constraint of the pressure, which fixes it at no point
  std::vector<Together> together;
  Field velocity, velocity1, velocity2, pressure, pressure1;
  std::optional<Field> earlier;  ///< earlier pressure solutions, for initial guesses
  HelmholtzSolver pressure_solver;
  struct Means {
    explicit Means(const Grid& grid);
    Field velocity, pressure, squares, products;
  };
  std::optional<Means> means;
  void add_means();
  /// Computes the gradients of the three velocity components in three work vectors, and returns pointers to these.
  std::array<Triple*, 3> gradients();
  /// Points of a side on one device of this rank, where forces are computed.
  struct Wall {
    std::size_t device;
    Buffer<std::int64_t> points;
    Buffer<double> areas, tractions, read;
  };
  std::vector<std::pair<SideForce, std::vector<Wall>>> walls;  ///< sides whose forces were asked for
  void list_walls();
  Triple star, right, turn, g, fine;
  Vector b, x, inverse_mass;
  Vector damping;  ///< factor of an explicit step that damps the divergence, by point
  Vector surface;  ///< normal velocity on sides, times basis functions; empty if zero
  std::vector<Through> through;
  bool taken = false;
  double volume = 0;
  std::int64_t parts = 1;
  Past past;
  double courant = 0;
  std::optional<BlockSums> sums;  ///< adds up four integrals over the domain at once, from sums over element blocks
  struct SumSpace {
    Vector parts, results, read;
  } sum_space;
  /// Integrates the product u v of each pair (u, v) over the box by quadrature. Collective.
  std::vector<double> integrals(const std::vector<std::pair<std::vector<double*>, std::vector<double*>>>& pairs);
  krylov::Effort pressure_effort, velocity_effort;
  std::vector<std::string> cautions;
};

/// Whether a component of the velocity is given on a side.
bool gives_something(const FlowSide& side);

/// Pointers to the x, y and z components of a vector field, in the form that operators of sem::Space take.
inline std::array<const Vector*, 3> all_of(const Triple& u) { return {&u[0], &u[1], &u[2]}; }
inline std::array<Vector*, 3> all_of(Triple& u) { return {&u[0], &u[1], &u[2]}; }

}  // namespace slipstream::sem

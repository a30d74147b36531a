// Options of solvers on elements: checks them, and derives the box, the grid of values and the memory.
#include <algorithm>
#include <cmath>
#include <set>

#include <slipstream/error.hpp>
#include <slipstream/sem_solver.hpp>

#include "solver/sem/patches.hpp"

namespace slipstream::sem {
namespace {

std::int64_t cube_of(const Options& options) {
  const std::int64_t n = options.order + 1;
  return n * n * n;
}

bool chebyshev(const Scalar& options) { return options.solver.preconditioner == Preconditioner::chebyshev; }
bool schwarz(const Scalar& options) { return options.solver.preconditioner == Preconditioner::schwarz; }
bool multigrid(const Scalar& options) {
  return options.solver.preconditioner == Preconditioner::multigrid || schwarz(options);
}

/// Whether a reaction that varies from point to point is given, which is added to the mass.
bool has_reaction_field(const Scalar& options) {
  const auto transfers = [](const Side& side) { return static_cast<bool>(side.transfer); };
  bool any = static_cast<bool>(options.reaction_at);
  for (const auto& axis : options.sides)
    for (const Side& side : axis)
      any |= transfers(side) || std::any_of(side.otherwise.begin(), side.otherwise.end(), transfers);
  return any;
}

}  // namespace

ElementBox box_of(const Options& options) {
  ElementBox box;
  box.elements = options.elements;
  box.upper = options.lengths;
  box.stretch = options.stretch;
  box.deform = options.deform;
  box.map = options.map;
  for (std::size_t d = 0; d < 3; ++d) box.periodic[d] = options.sides[d][0].condition == Condition::periodic;
  return box;
}

namespace {

void check_scalar(const Options& all, const Scalar& o) {
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t end = 0; end < 2; ++end)
      require((o.sides[d][end].condition == Condition::periodic) == (all.sides[d][0].condition == Condition::periodic),
              ErrorCode::unsupported,
              std::string("of the sides across ") + "xyz"[d] + " one is periodic and the other is not",
              {{"option", "sides"}, {"axis", std::string(1, "xyz"[d])}, {"problem", "periodic"}, {"scalar", o.name}});
  patches_of(box_of(all), o.sides);
  require(std::isfinite(o.diffusivity) && o.diffusivity > 0, "the diffusivity is a number above 0",
          {{"option", "diffusivity"}, {"given", o.diffusivity}, {"scalar", o.name}});
  require(std::isfinite(o.reaction) && o.reaction >= 0, "the reaction is a number of 0 or more",
          {{"option", "reaction"}, {"given", o.reaction}, {"scalar", o.name}});
  require(!o.diffusivity_at || all.factors == Factors::stored, ErrorCode::unsupported,
          "a diffusivity that differs from point to point is kept in stored factors",
          {{"option", "factors"}, {"given", to_string(all.factors)}, {"needed", "stored"}, {"other", "diffusivity"}});
  require((o.reaction == 0 && !o.reaction_at) || all.equation == Equation::helmholtz, ErrorCode::unsupported,
          "a reaction belongs to Helmholtz's equation",
          {{"option", "reaction"}, {"given", o.reaction}, {"scalar", o.name}});
  require(std::isfinite(o.krylov.absolute_tolerance) && o.krylov.absolute_tolerance >= 0,
          "the absolute tolerance is a number of 0 or more",
          {{"option", "absolute_tolerance"}, {"given", o.krylov.absolute_tolerance}, {"scalar", o.name}});
  require(!(o.start && all.exact_start), ErrorCode::unsupported,
          "values of elements are known at one time, and an exact start needs some before",
          {{"option", "start"}, {"scalar", o.name}});
  require(o.solver.components == 1, ErrorCode::unsupported, "each scalar is one component",
          {{"option", "components"}, {"given", o.solver.components}, {"scalar", o.name}});
}

/// Checks the names of fields, including those of earlier steps.
void check_names(const std::vector<Scalar>& scalars) {
  std::set<std::string> taken;
  for (const Scalar& scalar : scalars)
    for (const char* level : {"", "1", "2"})
      require(
          !scalar.name.empty() && taken.insert(scalar.name + level).second,
          "two fields are called '" + scalar.name + level + "': fields of earlier steps have 1 and 2 behind the name",
          {{"option", "name"}, {"scalar", scalar.name}});
}

}  // namespace

void check(const Options& o) {
  gauss_lobatto(o.order);
  box_of(o).check();
  const std::vector<Scalar> scalars = scalars_of(o);
  for (const Scalar& scalar : scalars) check_scalar(o, scalar);
  check_names(scalars);
  require(std::isfinite(o.time_step) && o.time_step > 0, "the time step is a number above 0",
          {{"option", "time_step"}, {"given", o.time_step}});
  const bool carried = o.velocity[0].at || o.velocity[1].at || o.velocity[2].at;
  require(!carried || o.equation == Equation::diffusion, ErrorCode::unsupported,
          "a velocity carries what goes over time: it belongs to diffusion", {{"option", "velocity"}});
  require(std::isfinite(o.target_courant) && o.target_courant >= 0 && o.target_courant <= largest_courant(o.order),
          "the Courant number to keep to is above that of the scheme",
          {{"option", "target_courant"}, {"given", o.target_courant}, {"limit", largest_courant(o.order)}});
  require(o.target_courant == 0 || carried, ErrorCode::unsupported,
          "without a velocity there is no Courant number to keep to",
          {{"option", "target_courant"}, {"other", "velocity"}});
  require(o.time_order >= 1 && o.time_order <= 3, "backward differences have order 1, 2 or 3 here",
          {{"option", "time_order"}, {"given", o.time_order}});
}

void check_elements(const Options& options) {
  constexpr std::int64_t together = 1024;
  const ElementBox box = box_of(options);
  const Rule rule = gauss_lobatto(options.order);
  for (std::int64_t first = 0; first < box.count(); first += together)
    geometry(box, rule, first, std::min(first + together, box.count()), options.factors, false);
}

Grid plan_grid(const Machine& machine, const Options& options, int rank) {
  const std::int64_t count = box_of(options).count(), cube = cube_of(options);
  GridOptions grid;
  for (int d = 0; d < machine.devices(); ++d) {
    const std::int64_t first = Space::first_of(count, machine.devices(), d);
    const std::int64_t last = Space::first_of(count, machine.devices(), d + 1);
    Block block;
    block.box = {{0, first, 0}, {cube, last, 1}};
    block.device = d;
    if (last > first) grid.boxes.push_back(block);
  }
  return Grid({cube, count, 1}, machine, rank, std::move(grid));
}

namespace {

/// Bytes of the multigrid levels, and of the vertices' arrays, which each device holds completely.
std::int64_t multigrid_bytes(const Options& options, const Scalar& scalar, std::int64_t elements) {
  constexpr std::int64_t word = sizeof(float);
  std::int64_t bytes = 0;
  for (std::int64_t order = options.order; order > 0; order = order / 2 > 1 ? order / 2 : 0) {
    const std::int64_t n = order + 1, cube = n * n * n, inner = std::max<std::int64_t>(0, n - 2);
    // Memory of a multigrid level: metric factors, mass, right side, solution, correction and its image, weights, and
    // the smoother's arrays. Lists of the points that elements share follow.
    bytes += elements * (13 * cube * word + 12 * (cube - inner * inner * inner));
    // The Schwarz smoother stores two single-precision values per point of a face, and lists of these points.
    if (schwarz(scalar)) bytes += elements * 6 * n * n * (2 * word + 12);
  }
  std::int64_t vertices = 1;
  for (const std::int64_t wide : options.elements) vertices *= wide + 1;
  // Bytes of multigrid's coarsest problem: per vertex a stencil of 27 and seven vectors; lists to sum corner values.
  return bytes + vertices * (34 * word + 12) + elements * 8 * (word + 12);
}

}  // namespace

std::vector<ArrayBytes> memory_needed(const Machine& machine, const Options& options) {
  const std::int64_t count = box_of(options).count(), cube = cube_of(options), word = sizeof(double);
  const bool stored = options.factors == Factors::stored, steps = options.equation == Equation::diffusion;
  std::vector<ArrayBytes> arrays;
  for (int d = 0; d < machine.devices(); ++d) {
    const std::int64_t elements =
        Space::first_of(count, machine.devices(), d + 1) - Space::first_of(count, machine.devices(), d);
    const std::int64_t vector = elements * cube * word;
    const auto add = [&](const char* name, std::int64_t bytes) {
      const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const ArrayBytes& array) {
        return array.device == d && array.array == name;
      });
      if (found != arrays.end())
        found->bytes += bytes;
      else if (bytes > 0)
        arrays.push_back({d, name, bytes});
    };
    const std::vector<Scalar> scalars = scalars_of(options);
    const auto count = static_cast<std::int64_t>(scalars.size());
    add("u and its history", count * (1 + (steps ? std::max(1, options.time_order - 1) : 0)) * vector);
    add("geometric factors", stored ? 6 * vector : (options.factors == Factors::affine ? 6 : 24) * word * elements);
    add("mass, mask and weights", (2 + 2 * count) * vector);
    for (const Scalar& scalar : scalars) {
      if (scalar.diffusivity_at) add("diffusivity", 6 * vector);
      if (has_reaction_field(scalar)) add("reaction", 2 * vector);
    }
    add("right side and values given", 5 * count * vector);
    const std::int64_t n_fine = (3 * (options.order + 1) + 1) / 2, fine = elements * n_fine * n_fine * n_fine * word;
    if (options.velocity[0].at || options.velocity[1].at || options.velocity[2].at)
      add("velocity", 3 * fine + (9 + 3 + 3 + 1) * vector);
    for (const Scalar& scalar : scalars) {
      const SolverOptions& how = scalar.solver;
      if (how.method == krylov::Method::flexible_gmres) {
        add("flexible GMRES", (2 * how.restart + 4) * vector);
      } else {
        add("conjugate gradients", (how.preconditioner == Preconditioner::jacobi ? 4 : 5) * vector);
      }
      if (count > 1) add("scalars side by side", 2 * vector);
      if (chebyshev(scalar)) add("Chebyshev's polynomial", 2 * vector);
      if (how.projection > 0) add("earlier solutions", (how.projection + 4) * vector);
      if (multigrid(scalar)) add("multigrid", multigrid_bytes(options, scalar, elements));
    }
    // A gather-scatter takes 12 B of device memory for each point on the surface of an element.
    const std::int64_t n = options.order + 1, inner = std::max<std::int64_t>(0, n - 2);
    arrays.push_back({d, "gather-scatter", 12 * elements * (cube - inner * inner * inner)});
  }
  return arrays;
}

int bytes_per_point(const Options& options) {
  const int apply = (options.factors == Factors::stored ? 64 : 16) + 18, vectors = 88;
  if (multigrid(options)) {
    // Bytes that a step of a smoother in single precision moves a point: operator and sums 45, vectors 32, Schwarz's
    // local solves with their faces and sums 60 more. Lower orders and the corners add a seventh.
    const int step = 45 + 32 + (schwarz(options) ? 60 : 0);
    return apply + vectors + 48 + 2 * options.solver.degree * step * 8 / 7;
  }
  if (!chebyshev(options)) return apply + vectors;
  // Bytes a point that the Chebyshev preconditioner moves: the operator once a degree, 32 in the first step, 56 in each
  // further one, 32 for two dot products. The search direction reads one vector in place of two, 8 B less.
  const int degree = options.solver.degree;
  return degree * apply + vectors + 32 + 56 * (degree - 1) + 32 - 8;
}

double largest_courant(int order) {
  // The time scheme is stable on the imaginary axis to 0.6338. The Courant number at that limit follows from the
  // largest eigenvalue of advection, times the least distance of points, on a periodic row of elements.
  constexpr double eigenvalues[] = {1.0, 1.497, 1.514, 1.444, 1.373, 1.323, 1.284, 1.257, 1.239, 1.226, 1.216};
  return 0.6338 / eigenvalues[std::min<std::size_t>(static_cast<std::size_t>(order), std::size(eigenvalues)) - 1];
}

namespace {

/// Derivative weights at time 0 of the Lagrange polynomials through the times 0, -steps[0], -steps[0] - steps[1] and so
/// on, times the first step. Extrapolation uses the values at 0 of polynomials through earlier times.
Differences of_uneven_steps(int order, const std::array<double, 3>& steps) {
  double times[4] = {0, 0, 0, 0};
  for (int n = 1; n <= order; ++n) times[n] = times[n - 1] - steps[static_cast<std::size_t>(n - 1)] / steps[0];
  Differences found;
  found.now = 0;
  for (int n = 1; n <= order; ++n) {
    found.now += 1 / (times[0] - times[n]);
    double slope = 1 / (times[n] - times[0]), value = 1;
    for (int m = 1; m <= order; ++m) {
      if (m == n) continue;
      slope *= (times[0] - times[m]) / (times[n] - times[m]);
      value *= (times[0] - times[m]) / (times[n] - times[m]);
    }
    found.before[static_cast<std::size_t>(n - 1)] = -slope;
    found.extrapolated[static_cast<std::size_t>(n - 1)] = value;
  }
  return found;
}

}  // namespace

Differences backward_differences(int order, const std::array<double, 3>& steps) {
  if (order > 1 && order < 4 && !(steps[0] == steps[1] && (order == 2 || steps[1] == steps[2])))
    return of_uneven_steps(order, steps);
  // Backward difference weights of Karniadakis, Israeli & Orszag 1991, table I.
  if (order == 1) return {1, {1, 0, 0}, {1, 0, 0}};
  if (order == 2) return {3.0 / 2, {2, -1.0 / 2, 0}, {2, -1, 0}};
  require(order == 3, "backward differences of order " + std::to_string(order) + ": there are 1 to 3",
          {{"option", "time_order"}, {"given", order}});
  return {11.0 / 6, {3, -3.0 / 2, 1.0 / 3}, {3, -3, 1}};
}

}  // namespace slipstream::sem

// What the options of a solver on elements mean: the box, the grid of values, memory.
#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>
#include <slipstream/sem_solver.hpp>

namespace slipstream::sem {
namespace {

std::int64_t cube_of(const Options& options) {
  const std::int64_t n = options.order + 1;
  return n * n * n;
}

bool chebyshev(const Options& options) { return options.krylov.preconditioner == krylov::Preconditioner::chebyshev; }

}  // namespace

Equation equation_from_string(const std::string& name) {
  if (name == "poisson") return Equation::poisson;
  if (name == "helmholtz") return Equation::helmholtz;
  if (name == "diffusion") return Equation::diffusion;
  throw Error(ErrorCode::invalid_argument,
              "no equation of spectral elements is called '" + name + "': choose poisson, helmholtz or diffusion",
              {{"option", "equation"}, {"given", name}});
}

ElementBox box_of(const Options& options) {
  ElementBox box;
  box.elements = options.elements;
  box.upper = options.lengths;
  box.stretch = options.stretch;
  box.deform = options.deform;
  box.map = options.map;
  for (std::size_t d = 0; d < 3; ++d) {
    box.periodic[d] = options.sides[d][0].condition == Condition::periodic;
    for (std::size_t end = 0; end < 2; ++end) box.natural[d][end] = options.sides[d][end].condition == Condition::flux;
  }
  return box;
}

void check(const Options& o) {
  gauss_lobatto(o.order);
  box_of(o).check();
  for (std::size_t d = 0; d < 3; ++d)
    require((o.sides[d][0].condition == Condition::periodic) == (o.sides[d][1].condition == Condition::periodic),
            ErrorCode::unsupported,
            std::string("of the sides across ") + "xyz"[d] + " one is periodic and the other is not",
            {{"option", "sides"}, {"axis", std::string(1, "xyz"[d])}, {"problem", "periodic"}});
  require(std::isfinite(o.diffusivity) && o.diffusivity > 0, "the diffusivity is a number above 0",
          {{"option", "diffusivity"}, {"given", o.diffusivity}});
  require(std::isfinite(o.reaction) && o.reaction >= 0, "the reaction is a number of 0 or more",
          {{"option", "reaction"}, {"given", o.reaction}});
  require(o.reaction == 0 || o.equation == Equation::helmholtz, ErrorCode::unsupported,
          "a reaction belongs to Helmholtz's equation", {{"option", "reaction"}, {"given", o.reaction}});
  require(std::isfinite(o.time_step) && o.time_step > 0, "the time step is a number above 0",
          {{"option", "time_step"}, {"given", o.time_step}});
  require(std::isfinite(o.krylov.absolute_tolerance) && o.krylov.absolute_tolerance >= 0,
          "the absolute tolerance is a number of 0 or more",
          {{"option", "absolute_tolerance"}, {"given", o.krylov.absolute_tolerance}});
  require(!(o.start && o.exact_start), ErrorCode::unsupported,
          "values of elements are known at one time, and an exact start needs some before", {{"option", "start"}});
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

std::vector<ArrayBytes> memory_needed(const Machine& machine, const Options& options) {
  const std::int64_t count = box_of(options).count(), cube = cube_of(options), word = sizeof(double);
  const bool stored = options.factors == Factors::stored, steps = options.equation == Equation::diffusion;
  std::vector<ArrayBytes> arrays;
  for (int d = 0; d < machine.devices(); ++d) {
    const std::int64_t elements =
        Space::first_of(count, machine.devices(), d + 1) - Space::first_of(count, machine.devices(), d);
    const std::int64_t vector = elements * cube * word;
    arrays.push_back({d, "u and its history", (1 + (steps ? std::max(1, options.time_order - 1) : 0)) * vector});
    arrays.push_back({d, "geometric factors",
                      stored ? 6 * vector : (options.factors == Factors::affine ? 6 : 24) * word * elements});
    arrays.push_back({d, "mass, mask and weights", 4 * vector});
    arrays.push_back({d, "right side and values given", 5 * vector});
    arrays.push_back({d, "conjugate gradients", (chebyshev(options) ? 6 : 4) * vector});
    // Places in the sum and lists of the points that elements share: 8 B and 4 B of each.
    const std::int64_t n = options.order + 1, inner = std::max<std::int64_t>(0, n - 2);
    arrays.push_back({d, "gather-scatter", 12 * elements * (cube - inner * inner * inner)});
  }
  return arrays;
}

int bytes_per_point(const Options& options) {
  const int apply = (options.factors == Factors::stored ? 64 : 16) + 18, vectors = 88;
  if (!chebyshev(options)) return apply + vectors;
  // Beside one operator more a degree: the polynomial's first step 32 B, each further one 56 B, a sum 24 B; the
  // direction then reads z for r and D.
  const int degree = options.krylov.degree;
  return degree * apply + vectors + 32 + 56 * (degree - 1) + 24 - 8;
}

Differences backward_differences(int order) {
  // Karniadakis, Israeli & Orszag 1991, table I.
  if (order == 1) return {1, {1, 0, 0}, {1, 0, 0}};
  if (order == 2) return {3.0 / 2, {2, -1.0 / 2, 0}, {2, -1, 0}};
  require(order == 3, "backward differences of order " + std::to_string(order) + ": there are 1 to 3",
          {{"option", "time_order"}, {"given", order}});
  return {11.0 / 6, {3, -3.0 / 2, 1.0 / 3}, {3, -3, 1}};
}

}  // namespace slipstream::sem

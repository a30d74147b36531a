// A time step: explicit terms, pressure solve, velocity solve.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include <slipstream/error.hpp>

#include "solver/sem/flow/impl.hpp"
#include "solver/sem/impl.hpp"
#include "solver/sem/places.hpp"

namespace slipstream::sem {

int Flow::Impl::time_order_now() const {
  if (options.exact_start) return options.time_order;
  return static_cast<int>(std::min<std::int64_t>(past.count + 1, options.time_order));
}

Differences Flow::Impl::differences_now() const {
  return backward_differences(time_order_now(), {length(), past.last, past.before});
}

double Flow::Impl::time_now() const {
  if (part + 1 == parts) return static_cast<double>(state.step + 1) * options.time_step;
  return static_cast<double>(state.step) * options.time_step + static_cast<double>(part + 1) * length();
}

void Flow::Impl::choose_parts() {
  part = 0;
  parts = 1;
  if (options.target_courant == 0) return;
  for (std::size_t c = 0; c < 3; ++c) combine(pointers(star[c]), {{1, part_of(velocity, c)}});
  parts = parts_for(options.time_step * space.fastest(all_of(std::as_const(star))).rate / options.target_courant);
}

void Flow::Impl::take_courant() {
  const double limit = options.courant_limit.value_or(largest_courant(options.order));
  const Space::Fastest found = space.fastest(all_of(std::as_const(star)));
  courant = found.rate * length();
  if (courant <= limit) return;
  char said[400];
  std::snprintf(
      said, sizeof said,
      "the Courant number is %.4g at time %.6g, in element %lld at %s, and advection grows above %.4g: take a "
      "time step of %.3g or less, or a target_courant",
      courant, time_now(), static_cast<long long>(found.element), text(found.place).c_str(), limit, limit / found.rate);
  throw krylov::NotSolved(said, {{"field", "velocity"},
                                 {"problem", "courant"},
                                 {"time", time_now()},
                                 {"given", courant},
                                 {"limit", limit},
                                 {"element", found.element},
                                 {"place", text(found.place)}});
}

void Flow::Impl::explicit_terms() {
  const Differences differences = differences_now();
  take_given(time_now());
  for (std::size_t c = 0; c < 3; ++c) {
    std::vector<Term> guess, sources;
    for (int n = 0; n < time_order_now(); ++n) {
      const auto at = static_cast<std::size_t>(n);
      guess.push_back({differences.extrapolated[at], part_of(level(n), c)});
      sources.push_back({differences.before[at] / length(), part_of(level(n), c)});
    }
    if (options.force[c].at) sources.push_back({1, pointers(components[c].force)});
    combine(pointers(star[c]), guess);
    combine(pointers(right[c]), sources);
  }
  take_courant();
  space.carry(all_of(std::as_const(star)), all_of(fine));
  for (std::size_t c = 0; c < 3; ++c) {
    if (options.filter > 0) {
      combine(pointers(turn[c]), {{1, pointers(star[c])}});
      space.filter(turn[c], 1, options.filter_modes);
      combine(pointers(right[c]),
              {{1, pointers(right[c])}, {-options.filter, pointers(star[c])}, {options.filter, pointers(turn[c])}});
    }
    space.mass(right[c], right[c]);
    space.advect(all_of(std::as_const(fine)), star[c], turn[c]);
    combine(pointers(right[c]), {{1, pointers(right[c])}, {-1, pointers(turn[c])}});
  }
}

void Flow::Impl::solve_pressure() {
  // The curl is made continuous over elements before it is differentiated again.
  space.curl(all_of(std::as_const(star)), all_of(turn));
  for (Vector& w : turn) {
    space.mass(w, w);
    space.assemble(w);
    times(inverse_mass, pointers(w));
  }
  space.curl(all_of(std::as_const(turn)), all_of(g));
  for (std::size_t c = 0; c < 3; ++c) {
    space.mass(g[c], g[c]);
    combine(pointers(g[c]), {{1, pointers(right[c])}, {-options.viscosity, pointers(g[c])}});
    space.assemble(g[c]);
    times(inverse_mass, pointers(g[c]));
  }
  space.weak_divergence(all_of(std::as_const(g)), b);
  const std::vector<double*> now = part_of(pressure, 0), before = part_of(pressure1, 0);
  const Differences differences = differences_now();
  // Extrapolation of the pressure has two terms at most: a third one gains little, and amplifies noise.
  const int order = std::min(2, time_order_now());
  const bool two = order == 2 && past.count > 1;
  const double share = two ? length() / past.last : 0;
  // With the whole extrapolated pressure as initial guess, not an increment, the solver makes the pressure's mean 0.
  combine(pointers(x), {{1 + share, now}, {-share, before}});
  if (!surface.empty()) combine(pointers(b), {{1, pointers(b)}, {-differences.now / length(), pointers(surface)}});
  space.assemble(b);
  pressure_effort.add(pressure_solver.solve(b, x, 1, 0, how(options.pressure_tolerance, "pressure")));
  combine(before, {{1, now}});
  combine(now, {{1, pointers(x)}});
}

void Flow::Impl::solve_velocity() {
  const double h2 = differences_now().now / length();
  space.gradient(x, all_of(turn));  // x is the new pressure; its gradient goes to the work vectors `turn`
  for (std::size_t c = 0; c < 3; ++c) {
    Component& one = components[c];
    space.mass(turn[c], turn[c]);
    one.constraint.apply(pointers(star[c]));
    if (one.lifting) combine(pointers(star[c]), {{1, pointers(star[c])}, {1, pointers(one.values)}});
    space.helmholtz(star[c], g[c], options.viscosity, h2);
    combine(pointers(right[c]), {{1, pointers(right[c])}, {-1, pointers(turn[c])}, {-1, pointers(g[c])}});
  }
  solve_components(h2);
  damp_divergence();
  past.before = past.last;
  past.last = length();
  ++past.count;
  if (means && time_now() > *options.mean_from) add_means();
}

std::vector<double*> Flow::Impl::component(const Vector& vector, std::size_t n) const {
  std::vector<double*> found = pointers(vector);
  for (std::size_t d = 0; d < found.size(); ++d) found[d] += static_cast<std::int64_t>(n) * space.points(d);
  return found;
}

void Flow::Impl::solve_components(double h2) {
  for (Together& group : together) {
    const std::size_t count = group.components.size();
    krylov::Options how_all = how(options.velocity_tolerance, "velocity");
    how_all.from_zero = true;
    for (std::size_t n = 0; n < count; ++n) {
      combine(component(group.right, n), {{1, pointers(right[group.components[n]])}});
      how_all.components.push_back({"xyz"[group.components[n]]});
    }
    components[group.components.front()].constraint.assemble(group.right, static_cast<int>(count));
    for (krylov::Result& result : group.solver.solve_all(group.right, group.x, options.viscosity, h2, how_all))
      velocity_effort.add(std::move(result));
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t c = group.components[n];
      const std::vector<double*> now = part_of(velocity, c), before = part_of(velocity1, c);
      combine(part_of(velocity2, c), {{1, before}});
      combine(before, {{1, now}});
      combine(now, {{1, pointers(star[c])}, {1, component(group.x, n)}});
    }
  }
}

void Flow::Impl::damp_divergence() {
  const int steps = static_cast<int>(std::ceil(options.divergence_damping));
  for (int n = 0; n < steps; ++n) {
    for (std::size_t c = 0; c < 3; ++c) combine(pointers(star[c]), {{1, part_of(velocity, c)}});
    space.divergence(all_of(std::as_const(star)), b);
    times(damping, pointers(b));
    for (Together& group : together) {
      const std::size_t count = group.components.size();
      for (std::size_t m = 0; m < count; ++m) {
        std::array<const Vector*, 3> along{};
        along[group.components[m]] = &b;
        space.weak_divergence(along, component(group.right, m));
      }
      components[group.components.front()].constraint.assemble(group.right, static_cast<int>(count));
      for (std::size_t m = 0; m < count; ++m) {
        const std::vector<double*> now = part_of(velocity, group.components[m]), change = component(group.right, m);
        times(inverse_mass, change);
        combine(now, {{1, now}, {-options.divergence_damping / steps, change}});
      }
    }
  }
}

void Flow::Impl::go_on() {
  for (part = 1; part < parts; ++part) {
    explicit_terms();
    solve_pressure();
    solve_velocity();
  }
  part = 0;
}

krylov::Options Flow::Impl::how(double tolerance, const char* field) const {
  krylov::Options how;
  how.tolerance = 0;
  how.absolute_tolerance = tolerance * std::sqrt(volume);
  how.most_iterations = options.most_iterations;
  how.must_converge = options.must_converge;
  // A right side with a nonzero mean is not refused, because it may be as small as its mean's rounding errors.
  how.imbalance = std::numeric_limits<double>::infinity();
  how.trace = options.exchange.trace;
  how.field = std::string(field) + " at step " + std::to_string(state.step + 1);
  how.hard =
      "the flow has become too rough for the elements, or these are thin or much deformed: take a smaller time "
      "step, more elements, or a higher order";
  return how;
}

}  // namespace slipstream::sem

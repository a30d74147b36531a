// Advection of an unknown by a given velocity, with as many substeps as its Courant number needs.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <slipstream/error.hpp>

#include "solver/sem/impl.hpp"
#include "solver/sem/places.hpp"

namespace slipstream::sem {

std::int64_t parts_for(double needed) {
  require(needed < 1e6, ErrorCode::unsupported, "a time step would have to be made in a million parts or more",
          {{"option", "target_courant"}, {"needed", needed}});
  // Number of substeps: 1, 2, 3, 4, 6, 8, 12 ..., so that the step's length, and the solver's set-up, change rarely.
  std::int64_t parts = 1;
  while (static_cast<double>(parts) < needed)
    parts = parts < 3 ? parts + 1 : parts % 3 == 0 ? parts / 3 * 4 : parts / 2 * 3;
  return parts;
}

void Sem::Impl::list_velocity() {
  const auto given = [](const Given& one) { return static_cast<bool>(one.at); };
  if (std::none_of(options.velocity.begin(), options.velocity.end(), given)) return;
  carrier.emplace();
  for (std::size_t a = 0; a < 3; ++a) {
    carrier->at_points[a] = space.vector();
    carrier->fine[a] = space.fine_vector();
    carrier->steady = carrier->steady && (!options.velocity[a].at || options.velocity[a].steady);
  }
  carrier->advected = space.vector();
}

void Sem::Impl::put_velocity(double time) {
  for (std::size_t a = 0; a < 3; ++a)
    if (options.velocity[a].at) unknowns.front()->put(pointers(carrier->at_points[a]), options.velocity[a].at, time);
  carrier->time = time;
}

Space::Fastest Sem::Impl::fastest(double time) {
  const double key = carrier->steady ? 0 : time;
  const auto known = carrier->known.find(key);
  if (known != carrier->known.end()) return known->second;
  put_velocity(time);
  if (carrier->known.size() > 64) carrier->known.clear();
  const auto& c = carrier->at_points;
  return carrier->known[key] = space.fastest({&c[0], &c[1], &c[2]});
}

void Sem::Impl::take_velocity(double time) {
  const double limit = largest_courant(options.order);
  Space::Fastest found = fastest(time);
  carrier->courant = found.rate * time_step_now();
  if (!(carrier->courant <= limit)) {
    char said[320];
    std::snprintf(said, sizeof said,
                  "the Courant number is %.4g at time %.6g, in element %lld at %s, and advection grows above %.4g: "
                  "take a time step of %.3g or less, or a target_courant",
                  carrier->courant, time, static_cast<long long>(found.element), text(found.place).c_str(), limit,
                  limit / found.rate);
    throw krylov::NotSolved(said, {{"field", options.name},
                                   {"problem", "courant"},
                                   {"time", time},
                                   {"given", carrier->courant},
                                   {"limit", limit},
                                   {"element", found.element},
                                   {"place", text(found.place)}});
  }
  if (carrier->steady && carrier->carried) return;
  if (!carrier->steady && carrier->time != time) put_velocity(time);
  const auto& c = carrier->at_points;
  auto& fine = carrier->fine;
  space.carry({&c[0], &c[1], &c[2]}, {&fine[0], &fine[1], &fine[2]});
  carrier->carried = true;
}

void Sem::Impl::Unknown::advect() {
  const auto& fine = run.carrier->fine;
  space.advect({&fine[0], &fine[1], &fine[2]}, x, run.carrier->advected);
  run.combine(pointers(b), {{1, pointers(b)}, {-1, pointers(run.carrier->advected)}});
}

std::int64_t Sem::Impl::parts_of(std::int64_t step) {
  if (options.target_courant == 0) return 1;
  const auto at = [&](std::int64_t n) { return fastest(static_cast<double>(n) * options.time_step).rate; };
  const double needed = options.time_step * std::max(at(step), at(step + 1)) / options.target_courant;
  return parts_for(needed);
}

double Sem::Impl::length_before(std::int64_t parts) {
  std::int64_t step = state.step, there = part;
  while (there < parts && step > 0) {
    --step;
    there += parts_of(step);
  }
  return options.time_step / static_cast<double>(parts_of(step));
}

int Sem::Impl::time_order_now() {
  if (options.exact_start) return options.time_order;
  std::int64_t done = part;
  for (std::int64_t step = state.step; step > 0 && done < options.time_order;) done += parts_of(--step);
  return static_cast<int>(std::min<std::int64_t>(done + 1, options.time_order));
}

Differences Sem::Impl::differences_now() {
  return backward_differences(time_order_now(), {time_step_now(), length_before(1), length_before(2)});
}

double Sem::Impl::time_now() {
  const std::int64_t parts = parts_of(state.step);
  if (part + 1 == parts) return static_cast<double>(state.step + 1) * options.time_step;
  return static_cast<double>(state.step) * options.time_step + static_cast<double>(part + 1) * time_step_now();
}

void Sem::Impl::go_on() {
  const std::int64_t parts = parts_of(state.step);
  for (part = 1; part < parts; ++part) {
    right_side();
    solve();
  }
  part = 0;
}

}  // namespace slipstream::sem

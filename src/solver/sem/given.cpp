// Given data at points (sources, sides, initial values), and errors against known solutions.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include <slipstream/error.hpp>

#include "machine/agree.hpp"
#include "solver/sem/impl.hpp"

namespace slipstream::sem {

std::vector<double> asked(const Function& function, std::span<const Point> places, double time) {
  std::vector<double> values = function(places, time);
  require(values.size() == places.size(), ErrorCode::mismatch,
          "a function of places gave " + std::to_string(values.size()) + " values for " +
              std::to_string(places.size()) + " places",
          {{"given", values.size()}, {"needed", places.size()}});
  return values;
}

void Sem::Impl::Unknown::ask(double time, const std::function<void()>& work) {
  const Problem failure = first_failure(comm, failure_of(work));
  if (!failure) return;
  char at[32];
  std::snprintf(at, sizeof at, "%.6g", time);
  throw krylov::NotSolved("what is given for " + own.name + " at time " + at + ": " + failure->what(),
                          joined(failure->facts(), {{"field", own.name}, {"problem", "given"}, {"time", time}}));
}

void Sem::Impl::Unknown::put(const std::vector<double*>& to, const Function& function, double time) {
  std::vector<std::vector<double>> values(to.size());
  ask(time, [&] {
    for (std::size_t d = 0; d < to.size(); ++d) values[d] = asked(function, space.places(d), time);
  });
  look_at(run.largest(values), time);
  run.put(to, values);
}

void Sem::Impl::Unknown::put_start(const std::vector<double*>& to) {
  std::vector<std::vector<double>> values(to.size());
  on_all_ranks(comm, [&] {
    for (std::size_t d = 0; d < to.size(); ++d) {
      const std::int64_t first = space.first_element(d);
      values[d] = own.start(first, first + space.elements(d));
    }
  });
  look_at(run.largest(values), 0);
  run.put(to, values);
}

double Sem::Impl::largest(const std::vector<std::vector<double>>& values) const {
  double found = 0;
  for (const std::vector<double>& part : values)
    // Largest magnitude of the user's values. std::max skips a NaN among them, which is reported elsewhere.
    for (const double value : part) found = std::max(found, std::abs(value));
  return comm.max(found);
}

void Sem::Impl::Unknown::look_at(double largest, double time) {
  largest_given = std::max(largest_given, largest);
  if (largest_given <= most_given) return;
  char text[200];
  std::snprintf(
      text, sizeof text,
      "what is given for %s at time %.6g reaches %.3g, and numbers up to %.3g are computed with: choose other "
      "units",
      own.name.c_str(), time, largest, most_given);
  throw krylov::NotSolved(
      text, {{"field", own.name}, {"problem", "too_large"}, {"time", time}, {"given", largest}, {"limit", most_given}});
}

void Sem::Impl::Unknown::list_sides() {
  const Rule rule = gauss_lobatto(options.order);
  const ElementBox& box = space.box();
  bool values = false;
  for (const Patch& patch : patches) {
    if (!patch.side.given.at) continue;
    (patch.side.condition == Condition::flux ? flows : values) = true;
    for (std::size_t d = 0; patch.side.condition == Condition::flux && d < run.devices.size(); ++d) {
      const std::int64_t first = space.first_element(d);
      FluxPoints here{&patch, d, points_of(patch, box, rule, first, first + space.elements(d)), {}};
      for (const std::int64_t p : here.of.points) here.places.push_back(space.places(d)[static_cast<std::size_t>(p)]);
      flux_points.push_back(std::move(here));
    }
  }
  if (values) {
    lifting.emplace(space, patches, constraint.faces());
    w = space.vector();
  }
  if (flows) flux = space.vector();
  if (own.source.at) f = space.vector();
}

std::vector<std::vector<double>> Sem::Impl::Unknown::fluxes(double time) {
  std::vector<std::vector<double>> all(run.devices.size());
  ask(time, [&] {
    for (std::size_t d = 0; d < all.size(); ++d) all[d].assign(static_cast<std::size_t>(space.points(d)), 0.0);
    for (const FluxPoints& here : flux_points) {
      const std::vector<double> values = asked(here.patch->side.given.at, here.places, time);
      for (std::size_t n = 0; n < values.size(); ++n)
        all[here.device][static_cast<std::size_t>(here.of.points[n])] += here.of.weights[n] * values[n];
    }
  });
  return all;
}

void Sem::Impl::Unknown::take_values(double time) {
  std::vector<double> mine;
  ask(time, [&] { mine = lifting->mine(time); });
  lifting->take(std::move(mine), w);
  look_at(lifting->largest(), time);
  if (!lifting->caution().empty() && cautions.empty()) cautions.push_back(lifting->caution());
}

void Sem::Impl::Unknown::take_given(double time) {
  const auto changes = [&](Condition condition) {
    bool any = !taken;
    for (const Patch& patch : patches)
      any |= patch.side.condition == condition && patch.side.given.at && !patch.side.given.steady;
    return any;
  };
  if (own.source.at && (!taken || !own.source.steady)) put(pointers(f), own.source.at, time);
  if (flows && changes(Condition::flux)) {
    const std::vector<std::vector<double>> values = fluxes(time);
    look_at(run.largest(values), time);
    run.put(pointers(flux), values);
  }
  if (lifting && changes(Condition::value)) take_values(time);
  taken = true;
  if (largest_given == 0 || largest_given >= 1 / most_given) return;
  char text[200];
  std::snprintf(text, sizeof text,
                "what is given for %s at time %.6g is nowhere above %.3g, and numbers that small lose their digits: "
                "choose other units",
                own.name.c_str(), time, largest_given);
  throw krylov::NotSolved(text, {{"field", own.name},
                                 {"problem", "too_small"},
                                 {"time", time},
                                 {"given", largest_given},
                                 {"limit", 1 / most_given}});
}

void Sem::Impl::Unknown::start() {
  // Copies of a point get the mean of their values, because their coordinates may differ by rounding errors.
  const Field* const history[] = {&u, &u1, &u2};
  const bool given = own.initial || own.start;
  for (int j = 0; given && j < (options.exact_start && run.steps() ? options.time_order : 1); ++j) {
    const std::vector<double*> level = run.part_of(*history[j]);
    own.start ? put_start(level) : put(level, own.initial, -j * run.time_step_now());
    run.times(space.weights(), level);
    space.assemble(level);
    run.wait();
  }
}

double Sem::largest_change() {
  Impl& s = *impl_;
  double largest = 0;
  for (const auto& unknown : s.unknowns) {
    const double residual = unknown->effort.last.true_residual;
    if (s.steps()) {
      largest = s.largest_difference(s.part_of(unknown->u), s.part_of(unknown->u1), largest);
    } else if (!std::isnan(largest) && !(residual <= largest)) {
      largest = residual;
    }
  }
  return s.steps() ? s.comm.max(largest) / s.length_before(1) : largest;
}

Statistics Sem::statistics(const Function& exact, std::size_t scalar) {
  Impl& s = *impl_;
  Impl::Unknown& unknown = *s.unknowns.at(scalar);
  const auto u = s.get(s.part_of(unknown.u)), mass = s.get(pointers(s.space.mass_matrix()));
  std::vector<std::vector<double>> known(u.size());
  if (exact)
    unknown.ask(s.state.time, [&] {
      for (std::size_t d = 0; d < u.size(); ++d) known[d] = asked(exact, s.space.places(d), s.state.time);
    });
  double volume = 0, sum = 0, sum_known = 0;
  Statistics found;
  found.least = found.largest = std::numeric_limits<double>::infinity();
  const auto each = [&](const auto& look) {
    for (std::size_t d = 0; d < u.size(); ++d)
      for (std::size_t p = 0; p < u[d].size(); ++p) look(u[d][p], mass[d][p], exact ? known[d][p] : 0);
  };
  found.largest = -found.least;
  each([&](double value, double w, double e) {
    volume += w;
    sum += w * value;
    sum_known += w * e;
    found.least = std::min(found.least, value);
    found.largest = std::max(found.largest, value);
  });
  found.volume = s.comm.sum_in_rank_order(volume);
  found.mean = s.comm.sum_in_rank_order(sum) / found.volume;
  found.least = -s.comm.max(-found.least);
  found.largest = s.comm.max(found.largest);
  if (!exact) return found;
  // Without a Dirichlet side, Poisson's equation determines u up to a constant, so means are subtracted.
  const double mean_known = s.comm.sum_in_rank_order(sum_known) / found.volume;
  const double lower = unknown.but_for_a_constant() ? mean_known : 0;
  double off = 0, size = 0, largest_off = 0, largest_known = 0;
  each([&](double value, double, double e) {
    largest_off = std::max(largest_off, std::abs(value - (e - lower)));
    largest_known = std::max(largest_known, std::abs(e - lower));
  });
  found.largest_off = s.comm.max(largest_off);
  // Errors and exact values are scaled by the largest of them, so that squares neither overflow nor underflow.
  const double largest = std::max(found.largest_off, s.comm.max(largest_known));
  const int exponent = std::isfinite(largest) && largest > 0 ? std::ilogb(largest) : 0;
  const auto square = [&](double value) {
    const double scaled = std::scalbn(value, -exponent);
    return scaled * scaled;
  };
  each([&](double value, double w, double e) {
    off += w * square(value - (e - lower));
    size += w * square(e - lower);
  });
  off = s.comm.sum_in_rank_order(off);
  size = s.comm.sum_in_rank_order(size);
  found.distance = size > 0 ? std::sqrt(off / size) : std::scalbn(std::sqrt(off), exponent);
  return found;
}

}  // namespace slipstream::sem

// What is given at points (sources, sides, the start), and what is found there.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include <slipstream/error.hpp>

#include "machine/agree.hpp"
#include "solver/sem/impl.hpp"
#include "solver/sem/kernels.hpp"

namespace slipstream::sem {
namespace {

const char* const side_names[3][2] = {{"x-", "x+"}, {"y-", "y+"}, {"z-", "z+"}};

}  // namespace

std::vector<double> asked(const Function& function, std::span<const Point> places, double time) {
  std::vector<double> values = function(places, time);
  require(values.size() == places.size(), "a function of places gave " + std::to_string(values.size()) +
                                              " values for " + std::to_string(places.size()) + " places");
  return values;
}

void Sem::Impl::put(const std::vector<double*>& to, const std::vector<std::vector<double>>& values) {
  for (std::size_t d = 0; d < to.size(); ++d)
    if (!values[d].empty()) copy(space.streams()[d], to[d], values[d].data(), values[d].size() * sizeof(double));
  wait();
}

void Sem::Impl::ask(double time, const std::function<void()>& work) {
  const std::string failure = first_failure(comm, failure_of(work));
  if (failure.empty()) return;
  char at[32];
  std::snprintf(at, sizeof at, "%.6g", time);
  throw krylov::NotSolved(std::string("what is given for u at time ") + at + ": " + failure);
}

void Sem::Impl::put(const std::vector<double*>& to, const Function& function, double time) {
  std::vector<std::vector<double>> values(to.size());
  ask(time, [&] {
    for (std::size_t d = 0; d < to.size(); ++d) values[d] = asked(function, space.places(d), time);
  });
  put(to, values);
}

std::vector<std::vector<double>> Sem::Impl::get(const std::vector<double*>& from) {
  std::vector<std::vector<double>> values(from.size());
  for (std::size_t d = 0; d < from.size(); ++d) {
    values[d].resize(static_cast<std::size_t>(space.points(d)));
    if (!values[d].empty()) copy(space.streams()[d], values[d].data(), from[d], values[d].size() * sizeof(double));
  }
  wait();
  return values;
}

void Sem::Impl::make_continuous(const std::vector<double*>& u) {
  for (std::size_t d = 0; d < u.size(); ++d) multiply(space.streams()[d], u[d], share[d].data(), u[d], space.points(d));
  space.assemble(u, false);
}

void Sem::Impl::list_sides() {
  const Rule rule = gauss_lobatto(options.order);
  const ElementBox& box = space.box();
  for (const auto& axis : options.sides)
    for (const Side& side : axis)
      if (side.given.at) (side.condition == Condition::flux ? flows : lifted) = true;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end) {
      const Side& side = options.sides[axis][end];
      if (!counts(side)) continue;
      for (std::size_t d = 0; d < devices.size(); ++d) {
        const std::int64_t first = space.first_element(d), last = first + space.elements(d);
        const int a = static_cast<int>(axis), e = static_cast<int>(end);
        SidePoints& here = sides[axis][end].emplace_back();
        here.points = box.points_on(a, e, first, last, options.order);
        for (const std::int64_t p : here.points) here.places.push_back(space.places(d)[static_cast<std::size_t>(p)]);
        if (side.condition == Condition::flux) here.weights = side_weights(box, rule, a, e, first, last);
      }
    }
  if (lifted) lift = space.vector();
  if (flows) flux = space.vector();
  if (options.source.at) f = space.vector();
}

std::vector<std::vector<double>> Sem::Impl::of_sides(Condition condition, double time) {
  std::vector<std::vector<double>> all(devices.size());
  std::string caution;
  ask(time, [&] {
    for (std::size_t d = 0; d < all.size(); ++d) {
      all[d].assign(static_cast<std::size_t>(space.points(d)), 0.0);
      std::vector<const char*> by(condition == Condition::value ? all[d].size() : 0);
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (std::size_t end = 0; end < 2; ++end) {
          const Side& side = options.sides[axis][end];
          if (side.condition != condition || !counts(side)) continue;
          const SidePoints& here = sides[axis][end][d];
          const std::vector<double> values =
              side.given.at ? asked(side.given.at, here.places, time) : std::vector<double>(here.places.size(), 0.0);
          for (std::size_t n = 0; n < values.size(); ++n) {
            const auto p = static_cast<std::size_t>(here.points[n]);
            if (condition == Condition::flux) {
              all[d][p] += here.weights[n] * values[n];
              continue;
            }
            if (by[p] && std::abs(values[n] - all[d][p]) > 1e-9 * (1 + std::abs(values[n])) && caution.empty()) {
              char text[256];
              std::snprintf(text, sizeof text,
                            "the sides %s and %s have %.4g and %.4g at (%.4g, %.4g, %.4g), where they meet: the "
                            "solution jumps there, and errors fall slowly; the latter is taken",
                            by[p], side_names[axis][end], all[d][p], values[n], here.places[n][0], here.places[n][1],
                            here.places[n][2]);
              caution = text;
            }
            all[d][p] = values[n];
            by[p] = side_names[axis][end];
          }
        }
    }
  });
  if (caution = first_failure(comm, caution); !caution.empty() && cautions.empty()) cautions.push_back(caution);
  return all;
}

void Sem::Impl::take_given(double time) {
  const auto changes = [&](Condition condition) {
    bool any = !taken;
    for (const auto& axis : options.sides)
      for (const Side& side : axis) any |= side.condition == condition && side.given.at && !side.given.steady;
    return any;
  };
  if (options.source.at && (!taken || !options.source.steady)) put(pointers(f), options.source.at, time);
  if (flows && changes(Condition::flux)) put(pointers(flux), of_sides(Condition::flux, time));
  if (lifted && changes(Condition::value)) {
    put(pointers(lift), of_sides(Condition::value, time));
    make_continuous(pointers(lift));
  }
  taken = true;
}

void Sem::Impl::start() {
  // One over the number of copies; b and x, which are zero as yet, are masks that fix all points, and x then none.
  for (std::size_t d = 0; d < devices.size(); ++d) {
    Stream& stream = space.streams()[d];
    invert(stream, x[d].data(), b[d].data(), 1, space.points(d));
    invert(stream, share[d].data(), b[d].data(), 1, space.points(d));
  }
  space.assemble(share, false);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    invert(space.streams()[d], share[d].data(), x[d].data(), 1, space.points(d));
    if (x[d].size()) fill(space.streams()[d], x[d].data(), 0, x[d].bytes());
  }
  const Field* const history[] = {&u, &u1, &u2};
  for (int j = 0; options.initial && j < (options.exact_start && steps() ? options.time_order : 1); ++j) {
    put(pointers_of(*history[j]), options.initial, -j * options.time_step);
    make_continuous(pointers_of(*history[j]));
  }
  take_given(options.time_step);
  // A right side that has no solution is refused before the first step.
  if (options.equation == Equation::poisson) balance();
  wait();
}

double Sem::largest_change() {
  Impl& s = *impl_;
  if (!s.steps()) return s.effort.last.true_residual;
  const std::vector<double*> now = s.pointers_of(s.u), before = s.pointers_of(s.u1);
  double largest = 0;
  for (std::size_t d = 0; d < now.size(); ++d) {
    Stream& stream = s.space.streams()[d];
    const Buffer<double> parts(stream.device(), largest_parts), here(stream.device(), largest_parts, Memory::pinned);
    largest_difference(stream, now[d], before[d], parts.data(), s.space.points(d));
    copy(stream, here.data(), parts.data(), here.bytes());
    stream.synchronize();
    for (std::size_t n = 0; n < here.size(); ++n)
      if (!(here.data()[n] <= largest)) largest = here.data()[n];  // keeps what is no number
  }
  return s.comm.max(largest) / s.options.time_step;
}

Statistics Sem::statistics(const Function& exact) {
  Impl& s = *impl_;
  const auto u = s.get(s.pointers_of(s.u)), mass = s.get(pointers(s.space.mass_matrix()));
  std::vector<std::vector<double>> known(u.size());
  if (exact)
    s.ask(s.state.time, [&] {
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
  // Without a Dirichlet side, Poisson's equation knows u but for a constant.
  const double mean_known = s.comm.sum_in_rank_order(sum_known) / found.volume;
  const bool but_for_a_constant = s.options.equation == Equation::poisson && !s.has_value_side();
  const double lower = but_for_a_constant ? mean_known : 0;
  double off = 0, size = 0, largest_off = 0;
  each([&](double value, double w, double e) {
    off += w * (value - (e - lower)) * (value - (e - lower));
    size += w * (e - lower) * (e - lower);
    largest_off = std::max(largest_off, std::abs(value - (e - lower)));
  });
  off = s.comm.sum_in_rank_order(off);
  size = s.comm.sum_in_rank_order(size);
  found.distance = std::sqrt(size > 0 ? off / size : off);
  found.largest_off = s.comm.max(largest_off);
  return found;
}

}  // namespace slipstream::sem

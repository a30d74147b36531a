// Given data of a flow at points: initial state, forces, velocities on sides.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <slipstream/error.hpp>

#include "machine/agree.hpp"
#include "solver/sem/flow/impl.hpp"
#include "solver/sem/impl.hpp"
#include "solver/sem/places.hpp"

namespace slipstream::sem {

void Flow::Impl::ask(double time, const char* field, const std::function<void()>& work) {
  const Problem failure = first_failure(comm, failure_of(work));
  if (!failure) return;
  char at[32];
  std::snprintf(at, sizeof at, "%.6g", time);
  throw krylov::NotSolved(std::string("what is given for the ") + field + " at time " + at + ": " + failure->what(),
                          joined(failure->facts(), {{"field", field}, {"problem", "given"}, {"time", time}}));
}

void Flow::Impl::put(const std::vector<double*>& to, const Function& function, double time, const char* field) {
  std::vector<std::vector<double>> values(to.size());
  ask(time, field, [&] {
    for (std::size_t d = 0; d < to.size(); ++d) values[d] = asked(function, space.places(d), time);
  });
  put(to, values);
}

bool gives_something(const FlowSide& side) {
  return std::any_of(side.velocity.begin(), side.velocity.end(), [](const Given& one) { return one.at; });
}

namespace {

bool never_changes(const FlowSide& side) {
  return std::all_of(side.velocity.begin(), side.velocity.end(),
                     [](const Given& one) { return !one.at || one.steady; });
}

/// All conditions of a side: its own, then those of its `otherwise` chain. A face gets the first condition whose
/// `where` holds.
std::vector<const FlowSide*> conditions_of(const FlowSide& side) {
  std::vector<const FlowSide*> all{&side};
  for (const FlowSide& next : side.otherwise) all.push_back(&next);
  return all;
}

}  // namespace

void Flow::Impl::list_sides() {
  const Rule rule = gauss_lobatto(options.order);
  const ElementBox& box = space.box();
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end) {
      const FlowSide& whole = options.sides[axis][end];
      if (whole.condition == FlowCondition::periodic) continue;
      // Earlier conditions of a side have precedence: a condition gets only the faces where none of those holds.
      const auto axis_number = static_cast<int>(axis), end_number = static_cast<int>(end);
      std::vector<Point> centres;
      if (whole.where) centres = box.face_centres(axis_number, end_number);
      std::vector<bool> left(static_cast<std::size_t>(box.elements[(axis + 1) % 3] * box.elements[(axis + 2) % 3]),
                             true);
      for (const FlowSide* side : conditions_of(whole)) {
        std::vector<bool> faces = left;
        if (side->where) {
          const std::vector<double> holds = asked(side->where, centres, 0);
          for (std::size_t n = 0; n < faces.size(); ++n) faces[n] = left[n] && holds[n] > 0;
        }
        for (std::size_t n = 0; n < faces.size(); ++n) left[n] = left[n] && !faces[n];
        if (side->condition != FlowCondition::velocity || !gives_something(*side)) continue;
        for (std::size_t d = 0; d < devices.size(); ++d) {
          const std::int64_t first = space.first_element(d), last = first + space.elements(d);
          const std::vector<std::int64_t> points = box.points_on(axis_number, end_number, first, last, options.order);
          const std::vector<Point> areas = side_areas(box, rule, axis_number, end_number, first, last);
          Through here{side, d, {}, {}, {}};
          for (std::size_t p = 0; p < points.size(); ++p) {
            const std::int64_t element = first + points[p] / space.points_per_element();
            if (!faces[static_cast<std::size_t>(box.face_of(axis_number, element))]) continue;
            here.points.push_back(points[p]);
            here.areas.push_back(areas[p]);
            here.places.push_back(space.places(d)[static_cast<std::size_t>(points[p])]);
          }
          through.push_back(std::move(here));
        }
      }
    }
  // Volume flux at points of sides with a given velocity. All ranks make this vector, because summing it is collective.
  if (!through.empty()) surface = space.vector();
}

void Flow::Impl::take_surface(double time) {
  std::vector<std::vector<double>> all(devices.size());
  double in = 0, out = 0, most = 0;
  ask(time, "velocity", [&] {
    for (std::size_t d = 0; d < all.size(); ++d) all[d].assign(static_cast<std::size_t>(space.points(d)), 0.0);
    for (const Through& here : through)
      for (std::size_t c = 0; c < 3; ++c) {
        if (!here.side->velocity[c].at || here.places.empty()) continue;
        const std::vector<double> values = asked(here.side->velocity[c].at, here.places, time);
        for (std::size_t n = 0; n < values.size(); ++n) {
          const Point& area = here.areas[n];
          all[here.device][static_cast<std::size_t>(here.points[n])] += area[c] * values[n];
          most += std::hypot(area[0], area[1], area[2]) * std::abs(values[n]);
        }
      }
    for (const std::vector<double>& values : all)
      for (const double value : values) (value < 0 ? in : out) += std::abs(value);
  });
  balance(comm.sum_in_rank_order(in), comm.sum_in_rank_order(out), comm.sum_in_rank_order(most));
  put(pointers(surface), all);
}

void Flow::Impl::balance(double in, double out, double along) {
  const double left = std::abs(out - in), most = std::max(in, out);
  constexpr double of_quadrature = 1e-3, of_rounding = 1e-6;
  // Tolerated inflow minus outflow through walls that move in their own plane: inexact curved normals, and rounding.
  constexpr double of_normals = 1e-5, of_their_rounding = 1e-10;
  if (!(left > of_rounding * most) || left < of_their_rounding * along) return;
  char said[300];
  std::snprintf(said, sizeof said, "through the sides %.6g flow in and %.6g out", in, out);
  if (left > of_quadrature * most && left > of_normals * along) {
    const std::string text =
        std::string(said) + ": an incompressible flow needs as much of both; change the velocities on sides";
    const Facts facts{{"option", "sides"}, {"problem", "balance"}, {"in", in}, {"out", out}};
    if (!taken) throw Error(ErrorCode::invalid_argument, text, facts);
    // Inflow and outflow that differ during a run are reported as a pressure system that cannot be solved.
    throw krylov::NotSolved(text, joined(facts, {{"field", "velocity"}, {"time", time_now()}}));
  }
  if (cautions.empty())
    cautions.push_back(std::string(said) + "; the quadrature leaves this difference, which is taken out");
}

void Flow::Impl::take_given(double time) {
  bool steady_sides = true;
  for (const Through& here : through) steady_sides = steady_sides && never_changes(*here.side);
  for (std::size_t c = 0; c < 3; ++c) {
    Component& one = components[c];
    if (options.force[c].at && (!taken || !options.force[c].steady))
      put(pointers(one.force), options.force[c].at, time, "force");
    if (!one.lifting || (taken && one.steady)) continue;
    std::vector<double> mine;
    ask(time, "velocity", [&] { mine = one.lifting->mine(time); });
    one.lifting->take(std::move(mine), one.values);
    if (!one.lifting->caution().empty() && cautions.empty()) cautions.push_back(one.lifting->caution());
    // Keeps values at fixed points only: values = values - mask values.
    combine(pointers(b), {{1, pointers(one.values)}});
    one.constraint.apply(pointers(b));
    combine(pointers(one.values), {{1, pointers(one.values)}, {-1, pointers(b)}});
  }
  if (!surface.empty() && (!taken || !steady_sides)) take_surface(time);
  taken = true;
}

void Flow::Impl::start() {
  for (int n = 0; n < (options.exact_start ? options.time_order : 1); ++n)
    for (std::size_t c = 0; c < 3; ++c) {
      if (!options.initial[c]) continue;
      const std::vector<double*> to = part_of(level(n), c);
      put(to, options.initial[c], -n * options.time_step, "velocity");
      // Copies of a point get the mean of their values, because their coordinates may differ by rounding errors.
      times(space.weights(), to);
      space.assemble(to);
      wait();
    }
  take_given(0);
  // Sides have their velocity from the start on, so that the Courant number includes an impulsively started lid.
  for (std::size_t c = 0; c < 3 && !options.exact_start; ++c) {
    const std::vector<double*> u = part_of(velocity, c);
    components[c].constraint.apply(u);
    if (components[c].lifting) combine(u, {{1, u}, {1, pointers(components[c].values)}});
  }
  wait();
}

double Flow::largest_change() {
  Impl& s = *impl_;
  double largest = 0;
  for (std::size_t c = 0; c < 3; ++c)
    largest = s.largest_difference(s.part_of(s.velocity, c), s.part_of(s.velocity1, c), largest);
  return s.comm.max(largest) / s.past.last;
}

}  // namespace slipstream::sem

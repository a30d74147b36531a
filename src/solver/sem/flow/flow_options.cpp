// Options of a flow: the linear problems of its components, and memory.
#include <algorithm>
#include <cmath>
#include <functional>

#include <slipstream/error.hpp>
#include <slipstream/sem_flow.hpp>

#include "solver/sem/flow/impl.hpp"
#include "solver/sem/impl.hpp"
#include "solver/sem/keys.hpp"
#include "solver/sem/patches.hpp"
#include "solver/sem/places.hpp"

namespace slipstream::sem {
namespace {

/// The axis that a side is perpendicular to in the deformed box. Throws Error if the side is no such plane.
std::size_t axis_of_plane(const ElementBox& box, int order, std::size_t axis, std::size_t end) {
  if (!box.map) return axis;
  const Rule rule = gauss_lobatto(order);
  std::size_t found = 3;
  for (std::int64_t first = 0; first < box.count(); first += 1024)
    for (const Point& area : side_areas(box, rule, static_cast<int>(axis), static_cast<int>(end), first,
                                        std::min<std::int64_t>(first + 1024, box.count()))) {
      const double size = std::hypot(area[0], area[1], area[2]);
      std::size_t along = 0;
      while (along < 3 && std::abs(area[along]) < (1 - 1e-12) * size) ++along;
      if (found == 3) found = along;
      require(along < 3 && along == found, ErrorCode::unsupported,
              std::string("the side ") + side_names[axis][end] +
                  " is bent or oblique: symmetry holds on planes across x, y or z",
              {{"option", "sides"}, {"side", side_names[axis][end]}, {"problem", "symmetry"}});
    }
  return found;
}

Side side_of(const ElementBox& box, int order, const FlowSide& from, std::size_t component, std::size_t axis,
             std::size_t end) {
  Side side;
  side.where = from.where;
  if (from.condition == FlowCondition::periodic) {
    side.condition = Condition::periodic;
  } else if (from.condition == FlowCondition::velocity) {
    side.condition = Condition::value;
    side.given = from.velocity[component];
  } else {
    side.condition = axis_of_plane(box, order, axis, end) == component ? Condition::value : Condition::flux;
  }
  for (const FlowSide& next : from.otherwise) side.otherwise.push_back(side_of(box, order, next, component, axis, end));
  return side;
}

/// Whether any side of the domain satisfies a predicate, by its own or by one of its alternative conditions.
bool any_side(const FlowOptions& o, const std::function<bool(const FlowSide&)>& like) {
  for (const auto& axis : o.sides)
    for (const FlowSide& side : axis)
      if (like(side) || std::any_of(side.otherwise.begin(), side.otherwise.end(), like)) return true;
  return false;
}

}  // namespace

Options component_of(const FlowOptions& from, std::size_t component) {
  Options o;
  o.elements = from.elements;
  o.lengths = from.lengths;
  o.stretch = from.stretch;
  o.deform = from.deform;
  o.map = from.map;
  o.order = from.order;
  o.factors = from.factors;
  o.equation = Equation::diffusion;
  o.diffusivity = from.viscosity;
  o.time_step = from.time_step;
  o.time_order = from.time_order;
  o.exact_start = from.exact_start;
  o.solver = from.pressure;
  o.exchange = from.exchange;
  o.tune = from.tune;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end)
      if (from.sides[axis][end].condition == FlowCondition::periodic)
        o.sides[axis][end].condition = Condition::periodic;
  const ElementBox box = box_of(o);
  box.check();
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end)
      o.sides[axis][end] = side_of(box, from.order, from.sides[axis][end], component, axis, end);
  return o;
}

void check(const FlowOptions& o) {
  require(std::isfinite(o.viscosity) && o.viscosity > 0, "the viscosity is a number above 0",
          {{"option", "viscosity"}, {"given", o.viscosity}});
  gauss_lobatto(o.order);
  check(component_of(o, 0));
  require(o.order >= 2 && o.order <= most_advected_order, ErrorCode::unsupported,
          "flows have orders 2 to " + std::to_string(most_advected_order),
          {{"option", "order"}, {"given", o.order}, {"least", 2}, {"most", most_advected_order}});
  const double limit = largest_courant(o.order);
  require(std::isfinite(o.target_courant) && o.target_courant >= 0 && o.target_courant <= limit,
          "the Courant number to keep to is above that of the scheme",
          {{"option", "target_courant"}, {"given", o.target_courant}, {"limit", limit}});
  require(std::isfinite(o.divergence_damping) && o.divergence_damping >= 0 && o.divergence_damping <= most_damping,
          "the divergence is damped by at most " + std::to_string(most_damping) + " explicit steps",
          {{"option", "divergence_damping"}, {"given", o.divergence_damping}, {"limit", most_damping}});
  require(!o.courant_limit || (std::isfinite(*o.courant_limit) && *o.courant_limit > 0),
          "a Courant number that ends a run is above 0",
          {{"option", "courant_limit"}, {"given", o.courant_limit.value_or(0)}});
  require(std::isfinite(o.filter) && o.filter >= 0, "the rate of a filter is a number of 0 or more",
          {{"option", "filter"}, {"given", o.filter}});
  require(o.filter_modes >= 1 && o.filter_modes <= o.order,
          "a filter damps 1 to " + std::to_string(o.order) + " modes here",
          {{"option", "filter_modes"}, {"given", o.filter_modes}, {"limit", o.order}});
  for (const auto& [name, value] :
       {std::pair{"pressure_tolerance", o.pressure_tolerance}, {"velocity_tolerance", o.velocity_tolerance}})
    require(std::isfinite(value) && value > 0, "a tolerance is a number above 0", {{"option", name}, {"given", value}});
}

std::vector<ArrayBytes> memory_needed(const Machine& machine, const FlowOptions& o) {
  Options of_pressure = component_of(o, 0);
  of_pressure.equation = Equation::poisson;
  const std::int64_t n = o.order + 1, cube = n * n * n, m = (3 * n + 1) / 2, word = sizeof(double);
  // Number of vectors in velocity solves: right side, increment, r, p, q, mask, weights by component; three diagonals.
  constexpr std::int64_t of_velocity = 3 * (2 + 3 + 2) + 3;
  std::int64_t of_step = 12 + 3 + (o.divergence_damping > 0 ? 1 : 0);
  for (std::size_t c = 0; c < 3; ++c) {
    of_step += o.force[c].at ? 1 : 0;
    of_step += any_side(o, [c](const FlowSide& side) { return side.velocity[c].at != nullptr; }) ? 1 : 0;
  }
  of_step += any_side(o, gives_something) ? 1 : 0;  // array of normal velocities on sides
  std::vector<ArrayBytes> arrays;
  for (const ArrayBytes& one : memory_needed(machine, of_pressure)) {
    const std::int64_t count = box_of(of_pressure).count();
    const std::int64_t elements = Space::first_of(count, machine.devices(), one.device + 1) -
                                  Space::first_of(count, machine.devices(), one.device);
    const auto add = [&](const char* name, std::int64_t values) {
      if (values > 0) arrays.push_back({one.device, name, values * elements * cube * word});
    };
    if (one.array == "right side and values given") continue;  // right sides are counted with vectors of a time step
    if (one.array != "u and its history") {
      arrays.push_back(one);
      continue;
    }
    add("velocity, pressure and their history", 11);
    add("running means", o.mean_from ? 10 : 0);
    add("metric", 9);
    add("terms of the step", of_step);
    arrays.push_back({one.device, "advection", 3 * (m * m * m + cube) * elements * word});
    add("solution of the velocity", of_velocity);
  }
  return arrays;
}

int bytes_per_point(const FlowOptions& o) {
  Options of_pressure = component_of(o, 0);
  of_pressure.equation = Equation::poisson;
  return bytes_per_point(of_pressure);
}

}  // namespace slipstream::sem

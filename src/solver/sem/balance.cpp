// Checks the solvability of Poisson's equation without a Dirichlet side: source and fluxes must sum to zero.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include <slipstream/error.hpp>

#include "solver/sem/impl.hpp"
#include "solver/sem/rule.hpp"

namespace slipstream::sem {
namespace {

double sum_of(const Given& given, std::span<const Point> places, std::span<const double> weights, double time) {
  const std::vector<double> values = asked(given.at, places, time);
  double sum = 0;
  for (std::size_t p = 0; p < values.size(); ++p) sum += weights[p] * values[p];
  return sum;
}

}  // namespace

Sem::Impl::Unknown::Supply Sem::Impl::Unknown::supply(const Rule& rule) {
  constexpr std::int64_t at_once = 64;
  const ElementBox& box = space.box();
  Supply mine;
  const auto add = [&](std::int64_t first, std::int64_t last) {
    const Geometry g = geometry(box, rule, first, last, Factors::stored);
    if (own.source.at) mine.source += sum_of(own.source, g.places, g.mass, options.time_step);
    for (const Patch& patch : patches) {
      if (!patch.side.given.at) continue;
      const PatchPoints here = points_of(patch, box, rule, first, last);
      std::vector<Point> places;
      for (const std::int64_t p : here.points) places.push_back(g.places[static_cast<std::size_t>(p)]);
      if (!places.empty()) mine.fluxes += sum_of(patch.side.given, places, here.weights, options.time_step);
    }
  };
  ask(options.time_step, [&] {
    for (std::size_t d = 0; d < run.devices.size(); ++d) {
      const std::int64_t behind = space.first_element(d) + space.elements(d);
      for (std::int64_t e = space.first_element(d); e < behind; e += at_once) add(e, std::min(e + at_once, behind));
    }
  });
  return {comm.sum_in_rank_order(mine.source), comm.sum_in_rank_order(mine.fluxes)};
}

void Sem::Impl::Unknown::balance() {
  right_side();
  krylov::Options look = options_for(own.name);
  look.most_iterations = 0;
  look.must_converge = false;
  look.imbalance = std::numeric_limits<double>::infinity();
  HelmholtzSolver alone(space, constraint, coefficients);
  const double part = alone.solve(b, x, h1(), shift(), look).imbalance;
  if (part <= own.krylov.imbalance) return;
  const int finer = 2 * options.order + 2;
  const Supply here = supply(gauss_lobatto(options.order)), truly = supply(lobatto_of_any_order(finer));
  char text[512];
  if (!(std::abs(truly.source + truly.fluxes) <= 0.5 * std::abs(here.source + here.fluxes))) {
    std::snprintf(text, sizeof text,
                  "Poisson's equation for %s: the right side does not sum to zero: the source brings in %.6g and the "
                  "fluxes %.6g (by %d points along each edge of an element), and without a Dirichlet side there is no "
                  "solution: change one of them by %.3g, or give a value on a side",
                  own.name.c_str(), truly.source, truly.fluxes, finer + 1, -(truly.source + truly.fluxes));
    throw krylov::NotSolved(text, {{"field", own.name},
                                   {"problem", "imbalance"},
                                   {"source", truly.source},
                                   {"fluxes", truly.fluxes},
                                   {"change", -(truly.source + truly.fluxes)}});
  }
  own.krylov.imbalance = part;
  std::snprintf(text, sizeof text,
                "source and fluxes sum to zero, but at the points of order %d a part of %.2g is left, which is "
                "taken out: a higher order or more elements leave less",
                options.order, part);
  cautions.push_back(text);
}

}  // namespace slipstream::sem

// Diffusivity, reaction and transfer coefficients that vary from point to point.
#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>

#include "machine/agree.hpp"
#include "solver/sem/impl.hpp"
#include "solver/sem/places.hpp"

namespace slipstream::sem {
namespace {

/// Throws Error unless a coefficient is finite and positive, or 0 with `zero_too`.
void check_coefficient(const char* option, double value, bool zero_too, std::int64_t element, const Point& place) {
  if (std::isfinite(value) && (value > 0 || (zero_too && value == 0))) return;
  throw Error(ErrorCode::invalid_argument,
              std::string("the ") + option + " is " + std::to_string(value) + " in element " + std::to_string(element) +
                  " at " + text(place) + "; it must be " + (zero_too ? "0 or more" : "above 0") + " everywhere",
              {{"option", option}, {"element", element}, {"place", text(place)}, {"given", value}});
}

}  // namespace

Coefficients Sem::Impl::Unknown::own_coefficients() {
  Coefficients made;
  const std::int64_t cube = space.points_per_element();
  bool reacts = static_cast<bool>(own.reaction_at);
  for (const Patch& patch : patches) reacts |= static_cast<bool>(patch.side.transfer);
  const auto upload_to = [&](Vector& to, std::size_t d, const std::vector<double>& values) {
    if (!values.empty()) copy(space.streams()[d], to[d].data(), values.data(), to[d].bytes());
    space.streams()[d].synchronize();
  };
  const auto at_points = [&](const char* option, const Function& function, std::size_t d, bool zero_too) {
    std::vector<double> values = asked(function, space.places(d), 0);
    for (std::size_t p = 0; p < values.size(); ++p)
      check_coefficient(option, values[p], zero_too, space.first_element(d) + static_cast<std::int64_t>(p) / cube,
                        space.places(d)[p]);
    return values;
  };
  Vector kappa, mass;
  double largest_reaction = 0;
  on_all_ranks(comm, [&] {
    if (own.diffusivity_at) kappa = space.vector();
    for (std::size_t d = 0; d < kappa.size(); ++d)
      upload_to(kappa, d, at_points("diffusivity", own.diffusivity_at, d, false));
    if (!reacts) return;
    const Rule rule = gauss_lobatto(options.order);
    mass = space.vector();
    for (std::size_t d = 0; d < mass.size(); ++d) {
      std::vector<double> values(mass[d].size(), 0.0);
      if (own.reaction_at) {
        values = at_points("reaction", own.reaction_at, d, true);
        std::vector<double> b(values.size());
        if (!b.empty()) copy(space.streams()[d], b.data(), space.mass_matrix()[d].data(), mass[d].bytes());
        space.streams()[d].synchronize();
        for (std::size_t p = 0; p < b.size(); ++p) values[p] *= b[p];
      }
      const std::int64_t first = space.first_element(d);
      for (const Patch& patch : patches) {
        if (!patch.side.transfer) continue;
        const PatchPoints here = points_of(patch, space.box(), rule, first, first + space.elements(d));
        std::vector<Point> places;
        for (const std::int64_t p : here.points) places.push_back(space.places(d)[static_cast<std::size_t>(p)]);
        const std::vector<double> a = asked(patch.side.transfer, places, 0);
        for (std::size_t n = 0; n < a.size(); ++n) {
          check_coefficient("transfer", a[n], true, first + here.points[n] / cube, places[n]);
          values[static_cast<std::size_t>(here.points[n])] += here.weights[n] * a[n];
        }
      }
      for (const double value : values) largest_reaction = std::max(largest_reaction, value);
      upload_to(mass, d, values);
    }
  });
  if (own.diffusivity_at) made.factors = space.scaled_factors(kappa);
  // If the reaction is zero everywhere, no mass term is made, and constants stay in the null space.
  if (comm.max(largest_reaction) > 0) made.reaction = std::move(mass);
  run.wait();
  return made;
}

}  // namespace slipstream::sem

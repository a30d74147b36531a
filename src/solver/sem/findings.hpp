#pragma once
// Messages about invalid values that a guard finds, in terms of elements.
#include <cstdio>

#include <slipstream/error.hpp>
#include <slipstream/guard.hpp>
#include <slipstream/sem.hpp>

#include "solver/sem/places.hpp"

namespace slipstream::sem {

/// Rewrites an error about a NaN or infinite value in terms of element and coordinates, not of array indices.
template <class Work>
void in_terms_of_elements(const ElementBox& box, int order, const Work& work) {
  try {
    work();
  } catch (const Diverged& error) {
    const Finding& found = error.finding;
    const Rule rule = gauss_lobatto(order);
    const auto n = static_cast<std::int64_t>(rule.points.size()), p = found.cell[0];
    const auto at = [&](std::int64_t i) { return rule.points[static_cast<std::size_t>(i % n)]; };
    const Point place = box.place(found.cell[1], {at(p), at(p / n), at(p / n / n)});
    char text[256];
    std::snprintf(text, sizeof text,
                  "%s is not finite (%g) at step %lld on rank %d in element %lld, at (%.4g, %.4g, %.4g)",
                  found.quantity.c_str(), found.value, static_cast<long long>(found.step), found.rank,
                  static_cast<long long>(found.cell[1]), place[0], place[1], place[2]);
    Finding there = found;
    there.position = {place[0], place[1], place[2]};
    throw Diverged(there, text, {{"element", found.cell[1]}, {"place", slipstream::sem::text(place)}});
  }
}

}  // namespace slipstream::sem

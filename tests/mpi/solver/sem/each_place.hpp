#pragma once
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <slipstream/sem_solver.hpp>

namespace slipstream::sem {

/// Given values: a function of one place and the time, at all places.
inline Function each(std::function<double(const Point&, double)> f) {
  return [f = std::move(f)](std::span<const Point> places, double time) {
    std::vector<double> values;
    for (const Point& x : places) values.push_back(f(x, time));
    return values;
  };
}

}  // namespace slipstream::sem

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include <slipstream/error.hpp>
#include <slipstream/grid.hpp>

namespace slipstream {

double assignment_cost(const std::vector<double>& flow, const std::vector<double>& distance,
                       const std::vector<int>& place) {
  const std::size_t n = place.size();
  double cost = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) cost += flow[i * n + j] * distance[place[i] * n + place[j]];
  return cost;
}

namespace {

std::vector<int> exhaustive(const std::vector<double>& flow, const std::vector<double>& distance, int parts) {
  std::vector<int> place(parts), best;
  std::iota(place.begin(), place.end(), 0);
  double least = std::numeric_limits<double>::infinity();
  do {
    const double cost = assignment_cost(flow, distance, place);
    // A later order must be clearly better, so that rounding never moves a placement away from the trivial one.
    if (cost < least * (1 - 1e-12)) {
      least = cost;
      best = place;
    }
  } while (std::next_permutation(place.begin(), place.end()));
  return best;
}

/// Swaps pairs while any swap helps.
double descend(const std::vector<double>& flow, const std::vector<double>& distance, std::vector<int>& place) {
  double cost = assignment_cost(flow, distance, place);
  for (bool better = true; better;) {
    better = false;
    for (std::size_t i = 0; i < place.size(); ++i)
      for (std::size_t j = i + 1; j < place.size(); ++j) {
        std::swap(place[i], place[j]);
        const double swapped = assignment_cost(flow, distance, place);
        if (swapped < cost * (1 - 1e-12)) {
          cost = swapped;
          better = true;
        } else {
          std::swap(place[i], place[j]);
        }
      }
  }
  return cost;
}

}  // namespace

std::vector<int> quadratic_assignment(const std::vector<double>& flow, const std::vector<double>& distance, int parts) {
  require(static_cast<int>(flow.size()) == parts * parts && flow.size() == distance.size(),
          "the flow and distance matrices must be parts x parts");
  if (parts <= 8) return exhaustive(flow, distance, parts);
  std::vector<int> best(parts);
  std::iota(best.begin(), best.end(), 0);
  double least = descend(flow, distance, best);
  std::minstd_rand random(1);
  for (int start = 0; start < 8; ++start) {
    std::vector<int> place(parts);
    std::iota(place.begin(), place.end(), 0);
    for (int i = parts - 1; i > 0; --i) std::swap(place[i], place[random() % (i + 1)]);
    const double cost = descend(flow, distance, place);
    if (cost < least * (1 - 1e-12)) {
      least = cost;
      best = place;
    }
  }
  return best;
}

}  // namespace slipstream

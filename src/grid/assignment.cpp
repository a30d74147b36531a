// The quadratic assignment problem: assigns n parts with flows between them to n places with distances.
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

/// Relative gain that a later solution needs, so that rounding never replaces the trivial placement.
constexpr double clearly = 1e-12;
/// Limit on cost terms that a descent of the assignment by pairwise swaps evaluates. It bounds the time reproducibly.
constexpr double work_limit = 2e9;

std::vector<int> exhaustive(const std::vector<double>& flow, const std::vector<double>& distance, int parts) {
  std::vector<int> place(parts), best;
  std::iota(place.begin(), place.end(), 0);
  double least = std::numeric_limits<double>::infinity();
  do {
    const double cost = assignment_cost(flow, distance, place);
    if (cost < least * (1 - clearly)) {
      least = cost;
      best = place;
    }
  } while (std::next_permutation(place.begin(), place.end()));
  return best;
}

/// Change of the cost (flow times distance) when parts i and j swap places.
double change(const std::vector<double>& flow, const std::vector<double>& distance, const std::vector<int>& place,
              std::size_t i, std::size_t j) {
  const std::size_t n = place.size();
  const auto f = [&](std::size_t a, std::size_t b) { return flow[a * n + b]; };
  const auto d = [&](std::size_t a, std::size_t b) { return distance[a * n + b]; };
  const std::size_t p = place[i], q = place[j];
  double sum = (f(i, i) - f(j, j)) * (d(q, q) - d(p, p)) + (f(i, j) - f(j, i)) * (d(q, p) - d(p, q));
  for (std::size_t k = 0; k < n; ++k) {
    if (k == i || k == j) continue;
    const std::size_t r = place[k];
    sum += (f(i, k) - f(j, k)) * (d(q, r) - d(p, r)) + (f(k, i) - f(k, j)) * (d(r, q) - d(r, p));
  }
  return sum;
}

/// Swaps places of parts of the domain while this lowers the cost: data flow times distance, summed. Returns the cost.
double descend(const std::vector<double>& flow, const std::vector<double>& distance, std::vector<int>& place) {
  const double n = static_cast<double>(place.size());
  double cost = assignment_cost(flow, distance, place), work = 0;
  for (bool better = true; better && work < work_limit; work += n * n * n / 2) {
    better = false;
    for (std::size_t i = 0; i < place.size(); ++i)
      for (std::size_t j = i + 1; j < place.size(); ++j) {
        const double gain = change(flow, distance, place, i, j);
        if (gain > -clearly * cost) continue;
        std::swap(place[i], place[j]);
        cost += gain;
        better = true;
      }
  }
  return assignment_cost(flow, distance, place);
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
  const int starts = parts <= 64 ? 8 : 1;
  for (int start = 0; start < starts; ++start) {
    std::vector<int> place(parts);
    std::iota(place.begin(), place.end(), 0);
    for (int i = parts - 1; i > 0; --i) std::swap(place[i], place[random() % (i + 1)]);
    const double cost = descend(flow, distance, place);
    if (cost < least * (1 - clearly)) {
      least = cost;
      best = place;
    }
  }
  return best;
}

}  // namespace slipstream

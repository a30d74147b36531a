#include "exchange/tuner_candidates.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

namespace slipstream {
namespace {

double cost(const Candidate& candidate, const MessageClasses& classes, bool by_whole) {
  if (by_whole) return candidate.whole;
  double sum = 0;
  for (const auto& [key, kind] : candidate.chosen) {
    const auto time = candidate.times.find(key);
    sum += time == candidate.times.end() ? never : classes.all().at(key).messages * time->second;
  }
  return sum;
}

using Champions = std::map<RouteKind, const Candidate*>;

/// Best measured candidate of each route, among its settings.
Champions champions_of(const std::vector<Candidate>& candidates, const MessageClasses& classes, bool by_whole) {
  Champions best;
  for (const Candidate& candidate : candidates) {
    if (!candidate.route || !candidate.measured) continue;
    const Candidate*& champion = best[*candidate.route];
    if (!champion || cost(candidate, classes, by_whole) < cost(*champion, classes, by_whole)) champion = &candidate;
  }
  return best;
}

/// Takes the knobs (tuning parameters) that used routes affect from the best candidates of these routes.
void take_knobs(Knobs& mixed, const Champions& champions, const std::set<RouteKind>& used) {
  const auto some = [&](bool RouteTraits::*trait) {
    return std::any_of(used.begin(), used.end(), [&](RouteKind kind) { return traits_of(kind).*trait; });
  };
  const bool in_place = some(&RouteTraits::in_place), device_memory = some(&RouteTraits::device_memory);
  for (const RouteKind kind : used) {
    const Knobs& knobs = champions.at(kind)->knobs;
    const RouteTraits traits = traits_of(kind);
    if (traits.in_place) {
      mixed.in_place = knobs.in_place;
      mixed.packet_limit = knobs.packet_limit;
      mixed.ring = knobs.ring;
    }
    if (traits.in_place || !(traits.stores || in_place)) mixed.teams = knobs.teams;
    if (traits.grouping) mixed.grouping = knobs.grouping;
    if (traits.pack) mixed.mpi = knobs.mpi;
    if (traits.pack && (traits.device_memory || !(device_memory && knobs.pack == Pack::zero_copy))) {
      mixed.pack = knobs.pack;
      mixed.sync = knobs.sync;
    }
    if (traits.chunk && (traits.in_place || !in_place)) mixed.chunk = knobs.chunk;
    if (!traits.stores) mixed.streams = knobs.streams;
  }
}

}  // namespace

std::string microseconds(double time) {
  char text[40];
  std::snprintf(text, sizeof text, time < 100 ? "%.1f us" : "%.0f us", time);
  return text;
}

Mixture mixture_of(const std::vector<Candidate>& candidates, const MessageClasses& classes, const Knobs& knobs,
                   bool by_whole) {
  const Champions champions = champions_of(candidates, classes, by_whole);
  Mixture mixed{{"the fastest for each class of messages", {}, knobs, {}}, {}};
  std::set<RouteKind> used;
  for (const auto& [key, one] : classes.all()) {
    std::vector<std::pair<double, RouteKind>> order;
    for (const auto& [kind, champion] : champions)
      if (champion->chosen.contains(key) && champion->times.contains(key))
        order.push_back({champion->times.at(key), kind});
    if (order.empty()) continue;
    std::sort(order.begin(), order.end());
    mixed.candidate.chosen[key] = order.front().second;
    used.insert(order.front().second);
    std::string& reason = mixed.reasons[key] = "measured: ";
    for (std::size_t n = 0; n < order.size(); ++n)
      reason += (n ? ", " : "") + to_string(order[n].second) + " " + microseconds(order[n].first);
  }
  take_knobs(mixed.candidate.knobs, champions, used);
  return mixed;
}

bool measured_before(const std::vector<Candidate>& candidates, const Candidate& mixed) {
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) {
    return c.measured && c.route && c.chosen == mixed.chosen && c.knobs == mixed.knobs;
  });
}

}  // namespace slipstream

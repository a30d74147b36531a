#include "exchange/tuner_candidates.hpp"

#include <algorithm>
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

std::vector<std::pair<std::string, Knobs>> variants(const Tried& tried, RouteKind kind, double largest) {
  const Knobs asked = tried.options.knobs, plain;
  std::vector<std::pair<std::string, Knobs>> list{{"", asked}};
  const auto also = [&](const std::string& name, auto change) {
    Knobs knobs = asked;
    change(knobs);
    list.push_back({name, knobs});
  };
  const auto some = [&](const auto& is) { return std::any_of(tried.items.begin(), tried.items.end(), is); };
  const bool combines = some([](const ExchangeItem& item) { return item.pattern->op() != Op::copy; });
  const bool coded = some([](const ExchangeItem& item) { return item.coding.kind != Coding::Kind::raw; });
  // All-rank calls may pay if all of several ranks send to all.
  const bool all_to_all =
      tried.several_ranks && some([](const ExchangeItem& item) { return item.pattern->name() == "transpose"; });
  const bool gpu = tried.grid.machine().device(0).local.backend == Backend::cuda;
  const RouteTraits traits = traits_of(kind);
  if (traits.in_place) {
    for (const int teams : {0, 64}) {
      if (teams && (!gpu || asked.teams != plain.teams)) continue;
      const std::string with = teams ? ", 64 teams" : "";
      if (teams) also(with, [&](Knobs& k) { k.teams = teams; });
      if (combines || asked.in_place != plain.in_place || asked.packet_limit != plain.packet_limit) continue;
      const auto without_packets = [&, teams](Knobs& k) { k.packet_limit = 0, k.teams = teams ? teams : k.teams; };
      also(", rows of 64 B in place" + with, [&](Knobs& k) { without_packets(k), k.in_place = 64; });
      also(", all in slots" + with, [&](Knobs& k) { without_packets(k), k.in_place = std::int64_t{1} << 60; });
    }
    // A small ring stays in the device's cache.
    if (constexpr std::int64_t small_ring = 8 << 20; !combines && asked.ring == plain.ring && largest > 2 * small_ring)
      also(", a ring of 8 MiB", [](Knobs& k) { k.ring = small_ring; });
    if (!combines && asked.packet_limit == plain.packet_limit)
      also(", all in packets", [](Knobs& k) { k.packet_limit = std::int64_t{1} << 60; });
  }
  if (!traits.stores && gpu && asked.teams == plain.teams) also(", 64 teams", [](Knobs& k) { k.teams = 64; });
  if (traits.streams && asked.streams == plain.streams) also(", one stream", [](Knobs& k) { k.streams = Lanes::one; });
  if (traits.pack && asked.pack == plain.pack && !tried.options.measure_errors)
    for (const Pack way : {Pack::per_direction, Pack::memcpy3d, Pack::zero_copy})
      if (!(way == Pack::zero_copy && traits.device_memory) && !(way == Pack::memcpy3d && coded))
        also(", " + to_string(way) + " packing", [&](Knobs& k) { k.pack = way; });
  if (traits.pack && !asked.sync) also(", waiting for every packing", [](Knobs& k) { k.sync = true; });
  if (traits.grouping && asked.grouping == plain.grouping && tried.grid.machine().nodes() > 1)
    also(", one message per pair of nodes", [](Knobs& k) { k.grouping = Grouping::nodes; });
  if (traits.pack && asked.mpi == plain.mpi && asked.grouping == plain.grouping && all_to_all &&
      (!traits.device_memory || tried.grid.machine().most_devices_of_rank() == 1))
    for (const MpiCalls calls : {MpiCalls::alltoallv, MpiCalls::ialltoallv, MpiCalls::put_fence, MpiCalls::put_lock}) {
      // A library that fails on windows of device memory may hang. Such calls are tried only if the user names them.
      const bool puts = calls == MpiCalls::put_fence || calls == MpiCalls::put_lock;
      if (puts && gpu && traits.device_memory) continue;
      also(", mpi = " + to_string(calls), [&](Knobs& k) { k.mpi = calls; });
    }
  if (traits.chunk && asked.chunk == plain.chunk)
    for (const std::int64_t chunk : {std::int64_t{1} << 18, std::int64_t{1} << 20, std::int64_t{1} << 22})
      if (static_cast<double>(chunk) < largest)
        also(", chunks of " + std::to_string(chunk >> 10) + " KiB", [&](Knobs& k) { k.chunk = chunk; });
  return list;
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

}  // namespace slipstream

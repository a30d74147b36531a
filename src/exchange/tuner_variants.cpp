#include "exchange/tuner_variants.hpp"

#include <algorithm>

namespace slipstream {
namespace {

bool coded(const std::vector<ExchangeItem>& items) {
  return std::any_of(items.begin(), items.end(),
                     [](const ExchangeItem& item) { return item.coding.kind != Coding::Kind::raw; });
}

/// Whether MPI's all-to-all calls may pay: there are several ranks, and all send to all.
bool all_to_all(const Tried& tried) {
  const auto is_transpose = [](const ExchangeItem& item) { return item.pattern->name() == "transpose"; };
  return tried.several_ranks && std::any_of(tried.items.begin(), tried.items.end(), is_transpose);
}

}  // namespace

bool combines(const std::vector<ExchangeItem>& items) {
  return std::any_of(items.begin(), items.end(), [](const auto& item) { return item.pattern->op() != Op::copy; });
}

std::vector<std::pair<std::string, Knobs>> variants(const Tried& tried, RouteKind kind, double largest) {
  const Knobs asked = tried.options.knobs, plain;
  std::vector<std::pair<std::string, Knobs>> list{{"", asked}};
  const auto also = [&](const std::string& name, auto change) {
    Knobs knobs = asked;
    change(knobs);
    list.push_back({name, knobs});
  };
  const bool gpu = tried.grid.machine().device(0).local.backend == Backend::cuda;
  const RouteTraits traits = traits_of(kind);
  if (traits.in_place) {
    for (const int teams : {0, 64}) {
      if (teams && (!gpu || asked.teams != plain.teams)) continue;
      const std::string with = teams ? ", 64 teams" : "";
      if (teams) also(with, [&](Knobs& k) { k.teams = teams; });
      if (combines(tried.items) || asked.in_place != plain.in_place || asked.packet_limit != plain.packet_limit)
        continue;
      const auto without_packets = [&, teams](Knobs& k) { k.packet_limit = 0, k.teams = teams ? teams : k.teams; };
      also(", rows of 64 B in place" + with, [&](Knobs& k) { without_packets(k), k.in_place = 64; });
      also(", all in slots" + with, [&](Knobs& k) { without_packets(k), k.in_place = std::int64_t{1} << 60; });
    }
    // A small ring of receive buffers stays in the device's cache.
    if (constexpr std::int64_t small_ring = 8 << 20;
        !combines(tried.items) && asked.ring == plain.ring && largest > 2 * small_ring)
      also(", a ring of 8 MiB", [](Knobs& k) { k.ring = small_ring; });
    if (!combines(tried.items) && asked.packet_limit == plain.packet_limit)
      also(", all in packets", [](Knobs& k) { k.packet_limit = std::int64_t{1} << 60; });
  }
  if (!traits.stores && gpu && asked.teams == plain.teams) also(", 64 teams", [](Knobs& k) { k.teams = 64; });
  if (traits.streams && asked.streams == plain.streams) also(", one stream", [](Knobs& k) { k.streams = Lanes::one; });
  if (traits.pack && asked.pack == plain.pack && !tried.options.measure_errors)
    for (const Pack way : {Pack::per_direction, Pack::memcpy3d, Pack::zero_copy})
      if (!(way == Pack::zero_copy && traits.device_memory) && !(way == Pack::memcpy3d && coded(tried.items)))
        also(", " + to_string(way) + " packing", [&](Knobs& k) { k.pack = way; });
  if (traits.pack && !asked.sync) also(", waiting for every packing", [](Knobs& k) { k.sync = true; });
  if (traits.grouping && asked.grouping == plain.grouping && tried.grid.machine().nodes() > 1)
    also(", one message per pair of nodes", [](Knobs& k) { k.grouping = Grouping::nodes; });
  if (traits.pack && asked.mpi == plain.mpi && asked.grouping == plain.grouping && all_to_all(tried) &&
      (!traits.device_memory || tried.grid.machine().most_devices_of_rank() == 1))
    for (const MpiCalls calls : {MpiCalls::alltoallv, MpiCalls::ialltoallv, MpiCalls::put_fence, MpiCalls::put_lock}) {
      // MPI that fails on windows of device memory may hang. Such calls are tried only if the user names them.
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

}  // namespace slipstream

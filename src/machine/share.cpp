#include "machine/share.hpp"

#include <algorithm>
#include <tuple>

namespace slipstream::detail {
namespace {

/// Number of items in part `index`, if `items` are divided into `parts`.
int portion(int items, int parts, int index) { return items * (index + 1) / parts - items * index / parts; }

bool overlap(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return !common.empty();
}

}  // namespace

std::vector<std::vector<int>> share_devices(const std::vector<std::vector<int>>& distance) {
  const int ranks = static_cast<int>(distance.size());
  const int devices = static_cast<int>(distance.front().size());
  std::vector<std::tuple<int, int, int>> wishes;
  for (int rank = 0; rank < ranks; ++rank)
    for (int device = 0; device < devices; ++device) wishes.emplace_back(distance[rank][device], rank, device);
  std::sort(wishes.begin(), wishes.end());

  std::vector<int> wanted(ranks, 1), offered(devices, 1);
  if (ranks <= devices)
    for (int rank = 0; rank < ranks; ++rank) wanted[rank] = portion(devices, ranks, rank);
  else
    for (int device = 0; device < devices; ++device) offered[device] = portion(ranks, devices, device);

  std::vector<std::vector<int>> result(ranks);
  for (const auto& [cost, rank, device] : wishes) {
    if (wanted[rank] == 0 || offered[device] == 0) continue;
    --wanted[rank];
    --offered[device];
    result[rank].push_back(device);
  }
  for (auto& mine : result) std::sort(mine.begin(), mine.end());
  return result;
}

std::vector<int> devices_in_turn(int place, int count, int devices) {
  std::vector<int> result;
  for (int i = 0; i < count; ++i) result.push_back((place * count + i) % devices);
  return result;
}

std::vector<int> share_cores(const std::vector<int>& cores, const std::vector<std::vector<int>>& near, int me) {
  bool crossing = false;
  for (const auto& a : near)
    for (const auto& b : near) crossing = crossing || (a != b && overlap(a, b));
  const std::vector<int>& pool = crossing ? cores : near[me];

  int sharers = 0, index = 0;
  for (int rank = 0; rank < static_cast<int>(near.size()); ++rank) {
    if (!crossing && near[rank] != near[me]) continue;
    if (rank < me) ++index;
    ++sharers;
  }
  const int count = static_cast<int>(pool.size());
  if (sharers > count) return {};
  const int first = count * index / sharers;
  return {pool.begin() + first, pool.begin() + first + portion(count, sharers, index)};
}

std::vector<int> split_host(int ranks, int per_node, bool cyclic) {
  std::vector<int> nodes(ranks, 0);
  if (per_node == 0) return nodes;
  const int count = (ranks + per_node - 1) / per_node;
  for (int rank = 0; rank < ranks; ++rank) nodes[rank] = cyclic ? rank % count : rank / per_node;
  return nodes;
}

}  // namespace slipstream::detail

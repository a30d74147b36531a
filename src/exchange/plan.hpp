#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include <slipstream/exchange.hpp>

namespace slipstream {

/// One message before routes and addresses: the transfers of all items from one device to another.
struct Bundle {
  int source = 0;
  int target = 0;
  std::vector<Leg> legs;
  std::size_t bytes = 0;
};

/// The transfers of one rank, grouped by pair of devices; legs in the order on which both ends agree.
struct Bundles {
  std::vector<std::vector<Transfer>> transfers;  // per item; legs point into them
  std::map<std::pair<int, int>, Bundle> by_pair;
};
Bundles bundle(const Grid& grid, const std::vector<PlannedItem>& items, int rank);

/// `gpu_mpi_refusal`: why device memory cannot be given to MPI.
Pair pair_of(const Machine& machine, int source, int target, const std::vector<PlannedItem>& items,
             const ExchangeOptions& options, const std::string& gpu_mpi_refusal = {});

struct Choice {
  RouteKind route;
  std::string reason;
};
/// The route chosen for these devices, else the first allowed one that does not refuse; throws Error listing all
/// refusals where there is none.
Choice choose(const Pair& pair, int source, int target, const ExchangeOptions& options);

/// Equal on two ranks where grid, fields, routes and codec are the same.
std::uint64_t plan_hash(const Grid& grid, const std::vector<PlannedItem>& items, const ExchangeOptions& options);

/// Equal at both ends of a message where they list the same transfers.
std::uint64_t transfers_hash(const Bundle& bundle);

}  // namespace slipstream

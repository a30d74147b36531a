#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>

#include "route/message.hpp"

namespace slipstream {

/// One message before routes and addresses: the transfers of all items from one device to another.
struct Bundle {
  int source = 0;
  int target = 0;
  std::vector<Leg> legs;
  std::size_t bytes = 0, raw_bytes = 0;
};

/// As errors name a field: "field u".
std::string named(const FieldOptions& field);

/// What of items a plan depends on.
std::vector<PlannedItem> planned(const std::vector<ExchangeItem>& items);

/// The transfers of one rank, grouped by pair of devices; legs in the order on which both ends agree.
struct Bundles {
  std::vector<std::vector<Transfer>> transfers;  // per item; legs point into them
  std::map<std::pair<int, int>, Bundle> by_pair;
};
Bundles bundle(const Grid& grid, const std::vector<PlannedItem>& items, int rank);
/// Sets where each leg begins, one behind the other, and the bytes of all.
void place_legs(Bundle& bundle);

/// Facts about the pairs of devices between which a plan sends. It finds what concerns all items once: large plans
/// ask of very many pairs.
class Pairs {
 public:
  /// `gpu_mpi_refusal`: why device memory cannot be given to MPI. The machine must outlive it.
  Pairs(const Machine& machine, const std::vector<PlannedItem>& items, std::string gpu_mpi_refusal = {});
  Pair of(int source, int target) const;

 private:
  const Machine& machine_;
  Pair common_;
  bool fields_shared_ = true, fields_own_ = true;
};

/// Why a route cannot serve a pair with these options; empty where it can.
std::string refusal(RouteKind kind, const Pair& pair, const ExchangeOptions& options);

struct Choice {
  RouteKind route;
  std::string reason;
};
/// The route chosen for these devices, else the first allowed one that does not refuse; throws Error listing all
/// refusals where there is none.
Choice choose(const Pair& pair, int source, int target, const ExchangeOptions& options);

/// Equal on two ranks where grid, fields, codings and routes are the same.
std::uint64_t plan_hash(const Grid& grid, const std::vector<PlannedItem>& items, const ExchangeOptions& options);

/// Equal at both ends of a message where they list the same transfers.
std::uint64_t transfers_hash(const Bundle& bundle);

}  // namespace slipstream

#pragma once
// A plan lists what one rank sends and receives, and by which routes. It asks neither other ranks nor devices.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>

#include "route/route.hpp"

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

/// A message with its route.
struct Channel {
  const Bundle* bundle;
  Choice choice;
  Pair pair;
  Message message;
  SlotNeed need;

  /// Whether a graph can replay it, as far as this rank knows.
  bool captured() const;
};

/// The state that the ends of each route share.
using RouteStates = std::map<RouteKind, std::shared_ptr<RouteState>>;

/// The part of one rank in an exchange, made in the order of its methods. Any rank of any machine can be planned
/// anywhere. The grid must outlive it, and patterns until routes are chosen. Bytes are those of packed, coded values.
struct Plan {
  /// Throws Error where the options are none (invalid_argument), or do not go together (unsupported).
  Plan(const Grid& grid, std::vector<PlannedItem> items, ExchangeOptions options);
  Plan(Plan&&) = default;  // messages point to their bundles
  /// Makes `bundles`. Throws Error where values cannot be moved as a pattern wants: mismatch, unsupported.
  void list_transfers() { bundles = bundle(grid, items, grid.rank()); }
  /// Whether a message of this rank would be given to MPI in device memory.
  bool wants_gpu_mpi() const;
  /// Makes the messages. `onto_itself`: some rank moves a field onto itself, so that nothing is stored before all is
  /// packed. `gpu_mpi_refusal`: why device memory cannot be given to MPI. Throws Error where a pair of devices has no
  /// route (unavailable), and where the knobs do not go with the routes (unsupported).
  void choose_routes(bool onto_itself, const std::string& gpu_mpi_refusal);
  /// Gives messages what their routes have prepared.
  void take(const RouteStates& states);
  /// Messages between processes do not lie in memory of the host that both map.
  void unshare_hosts();

  bool local(int device) const { return grid.machine().device(device).rank == grid.rank(); }
  /// Whether windows are looked at: whether the caller's kernels have stored all that they promised.
  bool looks() const { return options.poison && produces; }
  /// No message of two devices has this tag or a later one.
  int first_free_tag() const;
  std::string why_not_captured() const;
  /// As people would know one exchange from another: "exchange 3 of u, v".
  std::string name(std::uint64_t number) const;
  /// `who` waited, and for `whom` where it does not say so itself.
  Timeout too_late(std::uint64_t number, const std::string& who, const std::string& whom, double seconds,
                   Facts facts = {}) const;

  const Grid& grid;
  std::vector<PlannedItem> items;
  ExchangeOptions options;
  std::uint64_t hash = 0, limit_ns = 0;  ///< see plan_hash(); of a wait
  std::vector<std::string> patterns;     ///< names, of each item: patterns may be gone
  bool coded = false;                    ///< values of some item may be too large for its coding
  bool produces = false;                 ///< the caller's kernels store some item's values
  bool overlaps = false;                 ///< values are moved onto others that are moved, too
  Bundles bundles;
  std::vector<Channel> channels;                ///< farthest first
  std::vector<MessageInfo> messages;            ///< by source, then target
  std::vector<std::size_t> channel_of_message;  ///< of each of these
  std::vector<const Route*> ways;               ///< each that a message takes, once
  bool host_driven = false, capturable = true, limited_in_graphs = true;

 private:
  void check_own_codings() const;
  Message message_of(const Channel& channel) const;
  void prove_answers();
  std::string field_names() const;
};

}  // namespace slipstream

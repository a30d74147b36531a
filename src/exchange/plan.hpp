#pragma once
// Plan of one rank: its messages and their routes. Planning uses no other ranks and no devices.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>

#include "route/route.hpp"

namespace slipstream {

/// Message from one device to another, with the transfers of all exchanged fields, before a route is chosen.
struct Bundle {
  int source = 0;
  int target = 0;
  std::vector<Leg> legs;
  std::size_t bytes = 0, raw_bytes = 0;
};

/// Name of a field in error messages: "field u".
std::string named(const FieldOptions& field);

/// Selects the properties of an exchange's items on which its plan depends, such as patterns and field options.
std::vector<PlannedItem> planned(const std::vector<ExchangeItem>& items);

/// Transfers of one rank, grouped by pair of devices. Both ends of a message have its transfers in the same order.
struct Bundles {
  std::vector<std::vector<Transfer>> transfers;  // transfers (copied boxes) for each exchanged field and its pattern
  std::map<std::pair<int, int>, Bundle> by_pair;
};
Bundles bundle(const Grid& grid, const std::vector<PlannedItem>& items, int rank);
/// Assigns consecutive offsets to the legs (transfers) of a message, and the total size.
void place_legs(Bundle& bundle);

/// Properties of the pairs of devices between which an exchange sends. Those that depend only on its fields are the
/// same for all pairs. They are computed once, because large plans have very many pairs.
class Pairs {
 public:
  /// Computes the properties that all device pairs share. `gpu_mpi_refusal`: why MPI refuses device memory.
  Pairs(const Machine& machine, const std::vector<PlannedItem>& items, std::string gpu_mpi_refusal = {});
  Pair of(int source, int target) const;

 private:
  const Machine& machine_;
  Pair common_;
  bool fields_shared_ = true, fields_own_ = true;
};

/// Reason why a route cannot carry messages between a pair of devices with these options; empty if it can.
std::string refusal(RouteKind kind, const Pair& pair, const ExchangeOptions& options);

struct Choice {
  RouteKind route;
  std::string reason;
};
/// The requested route for these devices, else the first allowed one that serves the pair. If there is none, throws
/// Error with all reasons.
Choice choose(const Pair& pair, int source, int target, const ExchangeOptions& options);

/// The messages of plan_messages() that leave or reach the grid's rank. The cost depends on the rank's neighbours only.
std::vector<MessageInfo> plan_own_messages(const Grid& grid, const std::vector<PlannedItem>& items,
                                           const ExchangeOptions& options);

/// Hash of grid, fields, codings and routes. Ranks with equal plans have equal hashes.
std::uint64_t plan_hash(const Grid& grid, const std::vector<PlannedItem>& items, const ExchangeOptions& options);

/// Hash of a message's transfers. It is equal at both ends if their transfers are.
std::uint64_t transfers_hash(const Bundle& bundle);

/// A message with its route.
struct Channel {
  const Bundle* bundle;
  Choice choice;  ///< route of the message; its reason is in Plan::messages
  Pair pair;
  Message message;
  SlotNeed need;

  /// Whether a graph can replay the message's transport, as far as this rank knows.
  bool captured() const;
};

/// State of each route that is shared by its senders and receivers.
using RouteStates = std::map<RouteKind, std::shared_ptr<RouteState>>;

/// One rank's part of an exchange. Call its methods in the given order. Any rank of any machine can be planned
/// anywhere. The grid must outlive the plan; patterns may end once routes are chosen. Sizes are in bytes of packed,
/// coded values.
struct Plan {
  /// Plan without messages. Throws Error if options are invalid (invalid_argument) or incompatible (unsupported).
  Plan(const Grid& grid, std::vector<PlannedItem> items, ExchangeOptions options);
  Plan(Plan&&) = default;  // not copyable: messages point to the plan's own lists of transfers (`bundles`)
  /// Lists the transfers by pair of devices. Throws Error (mismatch, unsupported) if values cannot be moved as asked.
  void list_transfers() { bundles = bundle(grid, items, grid.rank()); }
  /// Whether some message of this rank would pass device memory to MPI.
  bool wants_gpu_mpi() const;
  /// Creates the messages. `onto_itself`: some rank moves a field onto itself, so all is packed before anything is
  /// stored. `gpu_mpi_refusal`: reason why MPI cannot take device memory. Throws Error if a pair of devices has no
  /// route (unavailable), or if knobs are incompatible with routes (unsupported).
  void choose_routes(bool onto_itself, const std::string& gpu_mpi_refusal);
  /// Gives each message the shared state of its route, such as an NCCL communicator.
  void take(const RouteStates& states);
  /// Messages between processes do not use shared host memory from here on.
  void unshare_hosts();

  bool local(int device) const { return grid.machine().device(device).rank == grid.rank(); }
  /// Whether windows, the views for the caller's kernels, are checked for values that these did not store.
  bool looks() const { return options.poison && produces; }
  /// Number of MPI tags that the plan needs; all messages have lower ones.
  int tags() const;
  std::string why_not_captured() const;
  /// Name for users, such as "exchange 3 of u, v".
  std::string name(std::uint64_t number) const;
  /// Timeout error: `who` waited for `whom`. `whom` may be empty if `who` contains it.
  Timeout too_late(std::uint64_t number, const std::string& who, const std::string& whom, double seconds,
                   Facts facts = {}) const;

  const Grid& grid;
  std::vector<PlannedItem> items;
  ExchangeOptions options;
  std::uint64_t hash = 0, limit_ns = 0;  ///< hash of the plan, see plan_hash(); timeout of a wait in nanoseconds
  std::vector<std::string> patterns;     ///< name of the communication pattern, such as a halo, of each exchanged field
  bool coded = false;                    ///< some item's values may overflow its coding
  bool produces = false;                 ///< whether the caller's kernels store values of some exchanged field
  bool overlaps = false;                 ///< some field is moved onto itself, so values are both read and overwritten
  Bundles bundles;
  std::vector<Channel> channels;                ///< messages of this rank, with the farthest target first
  std::vector<MessageInfo> messages;            ///< messages in the order of source, then target
  std::vector<std::size_t> channel_of_message;  ///< each message's index in `channels`, sorted by distance of target
  std::vector<const Route*> ways;               ///< routes that the rank's messages use, each once
  bool host_driven = false, capturable = true, limited_in_graphs = true;

 private:
  Message message_of(const Channel& channel) const;
  void prove_answers();
  std::string field_names() const;
};

}  // namespace slipstream

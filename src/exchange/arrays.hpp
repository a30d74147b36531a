#pragma once
// Addresses of the arrays of an exchange's fields. The caller may replace arrays later.
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <slipstream/exchange.hpp>

#include "exchange/memory.hpp"

namespace slipstream {

/// Identifies the array that holds a field's values in one block, for an item of an exchange.
struct ArrayName {
  int item = 0;
  ItemEnd end = ItemEnd::source;  // whether the array belongs to the field that is sent, or to the one that receives
  std::int64_t block = 0;
  auto operator<=>(const ArrayName&) const = default;
};

/// Numbered arrays that one device of this rank reads or writes.
struct DeviceArrays {
  DeviceMemory& memory;
  Arrays table = {};
  std::map<ArrayName, int> numbers = {};
  std::vector<std::vector<std::byte*>> places = {};  // addresses, [array][combination of fields' alternating arrays]

  /// Copies the table of addresses to the device. Call it once all arrays are numbered.
  void upload();
  /// Replaces the address of a window (view for the caller's kernels) by an offset from its array's start.
  void count_from_array(Window& window) const;
};

/// Arrays of all fields that an exchange moves (its items), on this rank's devices. Plan and fields must outlive it.
class ItemArrays {
 public:
  /// Takes the fields to move (items). Throws Error (unsupported) if their alternating arrays combine in over 64 ways.
  ItemArrays(const Plan& plan, std::vector<ExchangeItem> items, ExchangeMemory& memory);

  /// Publishes to other ranks the addresses of the arrays into which their devices store.
  void publish();
  /// Addresses of the block of a leg (a transfer's part of a message), or of the blocks of all legs, as a device
  /// reaches them. Call these after the ranks have exchanged their directories.
  Place place_of(const Leg& leg, ItemEnd end, DeviceArrays& on);
  std::vector<Place> places(const Channel& channel, ItemEnd end, DeviceArrays& on);
  DeviceArrays& of(const DeviceMemory& memory);

  /// Index of the combination of arrays in use, for fields that have several arrays in turn (double buffering).
  int current() const;
  void select(int combination);
  /// Replaces an item's arrays, after the work that the streams hold. If they do not fit, throws Error and changes
  /// nothing: not_found, unsupported, mismatch, invalid_argument; wrong_state if the exchange is `open`.
  void bind(std::size_t item, ItemEnd end, const std::vector<void*>& arrays, std::vector<Stream>& streams, bool open);
  /// Checks the arrays. Throws Error if the plan's arrays no longer exist (wrong_state), or if an item's source and
  /// target now share memory (unsupported).
  void check();
  /// Never frees arrays of this rank into which other ranks may still store.
  void keep();

  const std::vector<ExchangeItem> items;

 private:
  int copy_in(int combination, const Field& field) const;
  Field& field_of(const ArrayName& name) const;
  std::byte* address_of(const ArrayName& name, int copy, const DeviceMemory& user);
  int number_of(const ArrayName& name, DeviceArrays& on);
  void check_apart(const DeviceArrays& on, int index) const;

  const Plan& plan_;
  ExchangeMemory& memory_;
  std::deque<DeviceArrays> devices_;                                 // field arrays of the exchange, by local device
  std::vector<const Field*> copied_;                                 // fields stored in several arrays; no duplicates
  int combinations_ = 1;                                             // number of ways to pick one array of each field
  std::vector<std::pair<const Field*, std::uint64_t>> generations_;  // reallocations of each field, counted at planning
  std::vector<std::shared_ptr<const void>> stored_by_others_;
  bool bound_anew_ = false;  // arrays were replaced since the last overlap check
};

}  // namespace slipstream

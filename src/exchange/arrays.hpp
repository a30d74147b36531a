#pragma once
// Where the values of an exchange's items lie, now and when the caller takes other arrays.
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <slipstream/exchange.hpp>

#include "exchange/memory.hpp"

namespace slipstream {

/// The array of an item's block.
struct ArrayName {
  int item = 0;
  ItemEnd end = ItemEnd::source;  // of an item with one field: the source
  std::int64_t block = 0;
  auto operator<=>(const ArrayName&) const = default;
};

/// Arrays that a device of this rank knows by number.
struct DeviceArrays {
  DeviceMemory& memory;
  Arrays table = {};
  std::map<ArrayName, int> numbers = {};
  std::vector<std::vector<std::byte*>> places = {};  // [array][combination]

  /// Once all are numbered.
  void upload();
  /// Turns the address of a window in a numbered array into bytes behind the first one.
  void count_from_array(Window& window) const;
};

/// Arrays of the fields of all items, on all devices of this rank. Plan, fields and memory must outlive it.
class ItemArrays {
 public:
  /// Throws Error (unsupported) where fields have more combinations of copies than are listed.
  ItemArrays(const Plan& plan, std::vector<ExchangeItem> items, ExchangeMemory& memory);

  /// Tells the directory the arrays that other devices store into.
  void publish();
  /// The places of a leg's block, or of the blocks of a message's legs, as a device reaches them. Once ranks have
  /// exchanged their directories.
  Place place_of(const Leg& leg, ItemEnd end, DeviceArrays& on);
  std::vector<Place> places(const Channel& channel, ItemEnd end, DeviceArrays& on);
  DeviceArrays& of(const DeviceMemory& memory);

  /// The number of the combination of copies that is current.
  int current() const;
  void select(int combination);
  /// Other arrays take the places of an item's, behind what the streams hold. Throws Error, and changes nothing, where
  /// they do not fit: not_found, unsupported, mismatch, invalid_argument; wrong_state where the exchange is `open`.
  void bind(std::size_t item, ItemEnd end, const std::vector<void*>& arrays, std::vector<Stream>& streams, bool open);
  /// Throws Error where the plan's arrays are no more (wrong_state), and where source and target of an item have come
  /// to share memory (unsupported).
  void check();
  /// Others may still store into arrays of this rank: nobody frees them any more.
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
  std::deque<DeviceArrays> devices_;                                 // in the order of streams
  std::vector<const Field*> copied_;                                 // fields with several copies, once each
  int combinations_ = 1;                                             // of their copies
  std::vector<std::pair<const Field*, std::uint64_t>> generations_;  // of the arrays that the plan has
  std::vector<std::shared_ptr<const void>> stored_by_others_;
  bool bound_anew_ = false;  // since it was seen that arrays are apart
};

}  // namespace slipstream

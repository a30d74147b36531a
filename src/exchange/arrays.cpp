#include "exchange/arrays.hpp"

#include <algorithm>
#include <set>

#include <slipstream/error.hpp>

#include "device/kept_memory.hpp"
#include "device/upload.hpp"
#include "exchange/arrays_kernels.hpp"
#include "exchange/overlaps.hpp"

namespace slipstream {
namespace {

constexpr int most_combinations = 64;  // most combinations of arrays; limits address tables and graphs of run()

/// Largest word that an exchange copies at once, in bytes.
constexpr std::uintptr_t widest_word = 16;

std::uintptr_t rest(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % widest_word; }

}  // namespace

void DeviceArrays::upload() {
  if (!table.count) return;
  table.host.clear();
  for (std::size_t c = 0; c < places.front().size(); ++c)
    for (const auto& array : places) table.host.push_back(array[c]);
  table.device = slipstream::upload(memory.device, table.host);
}

void DeviceArrays::count_from_array(Window& window) const {
  if (window.array >= 0)
    window.base -= reinterpret_cast<std::intptr_t>(table.planned[static_cast<std::size_t>(window.array)]);
}

ItemArrays::ItemArrays(const Plan& plan, std::vector<ExchangeItem> wanted, ExchangeMemory& memory)
    : items(std::move(wanted)), plan_(plan), memory_(memory) {
  std::int64_t count = 1;
  std::string copies;
  for (const auto& item : items)
    for (const Field* field : {item.source, &item.to()}) {
      if (field->options().copies == 1 || std::find(copied_.begin(), copied_.end(), field) != copied_.end()) continue;
      copied_.push_back(field);
      count = std::min(count * field->options().copies, std::int64_t{1} << 32);
      copies += (copies.empty() ? "" : " x ") + std::to_string(field->options().copies);
    }
  require(count <= most_combinations, ErrorCode::unsupported,
          "the fields of one exchange have " + copies + " copies, which can be current in " + std::to_string(count) +
              " combinations, and at most " + std::to_string(most_combinations) +
              " are listed: put fields that swap into two exchanges or more",
          {{"combinations", count}, {"limit", most_combinations}});
  combinations_ = static_cast<int>(count);
  for (const auto& item : items) {
    if (!item.produced) generations_.emplace_back(item.source, item.source->generation());
    generations_.emplace_back(&item.to(), item.to().generation());
  }
  for (const auto& mine : memory.devices) devices_.push_back({*mine});
}

DeviceArrays& ItemArrays::of(const DeviceMemory& memory) {
  return *std::find_if(devices_.begin(), devices_.end(), [&](const auto& on) { return &on.memory == &memory; });
}

void ItemArrays::publish() {
  std::set<std::pair<Directory::Key, int>> done;
  for (const Channel& channel : plan_.channels) {
    if (!channel.need.in_place || channel.pair.same_device || !plan_.local(channel.message.target)) continue;
    for (const Leg& leg : channel.bundle->legs) {
      const Field& field = items[static_cast<std::size_t>(leg.item)].to();
      for (int array = 0; array < field.options().copies; ++array) {
        const Directory::Key key{Directory::What::field,    channel.message.target, -1, leg.item, array,
                                 leg.transfer->target_block};
        const int user = channel.message.source_rank;
        if (!done.insert({key, user}).second) continue;
        memory_.directory.publish(key, user, memory_.of(channel.message.target).device, field.array(key.block, array));
        if (user != plan_.grid.rank()) stored_by_others_.push_back(field.owner(key.block, array));
      }
    }
  }
}

/// Index of the array of `field` in `combination`, the number of a choice of one array for each field with several.
int ItemArrays::copy_in(int combination, const Field& field) const {
  for (const Field* other : copied_) {
    if (other == &field) return combination % field.options().copies;
    combination /= other->options().copies;
  }
  return 0;
}

int ItemArrays::current() const {
  int current = 0, radix = 1;
  for (const Field* field : copied_) {
    current += radix * field->physical(0);
    radix *= field->options().copies;
  }
  return current;
}

void ItemArrays::select(int combination) {
  for (DeviceArrays& on : devices_) on.table.combination = combination;
}

Field& ItemArrays::field_of(const ArrayName& name) const {
  const ExchangeItem& item = items[static_cast<std::size_t>(name.item)];
  return name.end == ItemEnd::source ? *item.source : item.to();
}

/// Address of an array as a device of this rank reaches it. The block may belong to another device.
std::byte* ItemArrays::address_of(const ArrayName& name, int copy, const DeviceMemory& user) {
  const ExchangeItem& item = items[static_cast<std::size_t>(name.item)];
  const Grid& on = name.end == ItemEnd::source ? plan_.grid : item.pattern->target(plan_.grid);
  const int device = on.block(name.block).device;
  if (device == user.index) return field_of(name).array(name.block, copy);
  return static_cast<std::byte*>(
      memory_.directory.find({Directory::What::field, device, -1, name.item, copy, name.block}, user.device));
}

/// Number of an array in the device's table of addresses, through which kernels find arrays that may be replaced.
int ItemArrays::number_of(const ArrayName& name, DeviceArrays& on) {
  const auto [found, added] = on.numbers.try_emplace(name, on.table.count);
  if (!added) return found->second;
  ++on.table.count;
  std::vector<std::byte*>& places = on.places.emplace_back();
  const Field& field = field_of(name);
  for (int c = 0; c < combinations_; ++c) places.push_back(address_of(name, copy_in(c, field), on.memory));
  on.table.planned.push_back(places.front());
  return found->second;
}

Place ItemArrays::place_of(const Leg& leg, ItemEnd end, DeviceArrays& on) {
  const ExchangeItem& item = items[static_cast<std::size_t>(leg.item)];
  const bool at_source = end == ItemEnd::source;
  const std::int64_t block = at_source ? leg.transfer->source_block : leg.transfer->target_block;
  const bool one = !item.target && &item.pattern->target(plan_.grid) == &plan_.grid;
  const ArrayName name{leg.item, one ? ItemEnd::source : end, block};
  const Field& field = field_of(name);
  Place place;
  place.type = field.options().type;
  place.free_gaps = !field.options().adopted;
  place.shape = block_shape(field.grid(), block, field.options());
  if (at_source && leg.produced) return place;  // no source address: the caller's kernels send these values
  if (item.rebinds || field.options().copies > 1) {
    place.array = number_of(name, on);
    place.origin = on.table.planned[static_cast<std::size_t>(place.array)];
  } else {
    place.origin = address_of(name, 0, on.memory);
  }
  place.origin += place.shape.origin * static_cast<std::int64_t>(size_of(place.type));
  return place;
}

std::vector<Place> ItemArrays::places(const Channel& channel, ItemEnd end, DeviceArrays& on) {
  std::vector<Place> all;
  for (const Leg& leg : channel.bundle->legs) all.push_back(place_of(leg, end, on));
  return all;
}

void ItemArrays::bind(std::size_t index, ItemEnd end, const std::vector<void*>& arrays, std::vector<Stream>& streams,
                      bool open) {
  if (index >= items.size())
    throw Error(ErrorCode::not_found,
                "an exchange of " + std::to_string(items.size()) + " items has no item " + std::to_string(index) +
                    " that could be bound anew",
                {{"item", index}, {"limit", items.size()}});
  const ExchangeItem& item = items[index];
  if (!item.target) end = ItemEnd::source;
  const Field& field = end == ItemEnd::source ? *item.source : item.to();
  const std::string what = "item " + std::to_string(index) + " (" + field.options().name + ") ";
  if (!item.rebinds)
    throw Error(ErrorCode::unsupported,
                what + "was made for its fields' arrays alone: set ExchangeItem::rebinds when it is made",
                {{"item", index}, {"option", "rebinds"}});
  if (open) throw Error(ErrorCode::wrong_state, what + "cannot be bound anew between begin and end", {{"item", index}});
  const std::vector<std::int64_t>& blocks = field.grid().local();
  const auto copies = static_cast<std::size_t>(field.options().copies);
  if (arrays.size() != blocks.size() * copies)
    throw Error(ErrorCode::mismatch,
                what + "was given " + std::to_string(arrays.size()) + " arrays for " + std::to_string(blocks.size()) +
                    " blocks of " + std::to_string(copies) + " copies on this rank",
                {{"item", index}, {"given", arrays.size()}, {"needed", blocks.size() * copies}});
  for (std::size_t n = 0; n < arrays.size(); ++n) {
    const std::int64_t block = blocks[n / copies];
    const std::string why = field.refusal(block, arrays[n]);
    if (!why.empty())
      throw Error(ErrorCode::invalid_argument,
                  what + "cannot be bound to an array of block " + std::to_string(block) + ": " + why,
                  {{"item", index}, {"block", block}});
    if (rest(arrays[n]) != rest(field.array(block, 0)))
      throw Error(
          ErrorCode::unsupported,
          what + "cannot be bound to an array of block " + std::to_string(block) + " whose address is " +
              std::to_string(rest(arrays[n])) + " bytes behind a multiple of 16, for it was planned with one " +
              std::to_string(rest(field.array(block, 0))) + " bytes behind: values are moved in words of up to 16",
          {{"item", index}, {"block", block}, {"given", rest(arrays[n])}, {"needed", rest(field.array(block, 0))}});
  }
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    DeviceArrays& on = devices_[d];
    std::vector<ArrayPlace> changed;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto found = on.numbers.find({static_cast<int>(index), end, blocks[b]});
      if (found == on.numbers.end()) continue;
      for (int c = 0; c < combinations_; ++c) {
        auto* const array = static_cast<std::byte*>(arrays[b * copies + static_cast<std::size_t>(copy_in(c, field))]);
        const int at = c * on.table.count + found->second;
        on.table.host[static_cast<std::size_t>(at)] = array;
        changed.push_back({at, array});
      }
    }
    store_places(streams[d], on.table.device.data(), changed);
  }
  bound_anew_ = true;
}

void ItemArrays::keep() { keep_for_ever(std::move(stored_by_others_)); }

void ItemArrays::check() {
  for (const auto& [field, generation] : generations_)
    if (field->generation() != generation)
      throw Error(
          ErrorCode::wrong_state,
          "field " + field->options().name +
              " has dropped or remade its arrays since its exchange was made, which would use the memory of the old "
              "ones: make the exchange anew",
          {{"field", field->options().name}});
  // The plan assumed that source and target do not overlap.
  if (bound_anew_ && !plan_.overlaps)
    for (const DeviceArrays& on : devices_)
      for (std::size_t i = 0; i < items.size(); ++i) check_apart(on, static_cast<int>(i));
  bound_anew_ = false;
}

void ItemArrays::check_apart(const DeviceArrays& on, int index) const {
  const ExchangeItem& item = items[static_cast<std::size_t>(index)];
  if (!item.rebinds || !item.target || item.produced) return;
  for (int c = 0; c < combinations_; ++c) {
    const auto bytes = [&](const Field& field, std::int64_t block, int number) {
      const std::byte* const array = on.table.host[static_cast<std::size_t>(c * on.table.count + number)];
      return bytes_of(array, field.shape(block), field.options());
    };
    std::vector<std::pair<Bytes, std::int64_t>> sources, targets;  // address ranges of arrays, with their block numbers
    for (const auto& [name, number] : on.numbers) {
      if (name.item != index) continue;
      if (name.end == ItemEnd::source)
        sources.emplace_back(bytes(*item.source, name.block, number), name.block);
      else if (item.target->grid().block(name.block).device == on.memory.index)
        targets.emplace_back(bytes(*item.target, name.block, number), name.block);
    }
    const Intervals<std::int64_t> written(std::move(targets));
    for (const auto& [read, block] : sources)
      written.any_meeting(read, [&, from = block](std::int64_t to) -> bool {
        throw Error(ErrorCode::unsupported,
                    "the source and the target of item " + std::to_string(index) + " (" + item.source->options().name +
                        ") are bound to the same memory, in blocks " + std::to_string(from) + " and " +
                        std::to_string(to) +
                        ", and the exchange was planned with arrays that were apart: make an exchange of these arrays",
                    {{"item", index}, {"source_block", from}, {"target_block", to}, {"problem", "same_memory"}});
      });
  }
}

}  // namespace slipstream

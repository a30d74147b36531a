// Where the values of an exchange's items lie, now and when the caller takes other arrays.
#include <algorithm>

#include <slipstream/error.hpp>

#include "device/upload.hpp"
#include "exchange/arrays_kernels.hpp"
#include "exchange/impl.hpp"

namespace slipstream {
namespace {

constexpr int most_combinations = 64;  // tables of addresses, and graphs of run()

/// Words are as wide as this at most.
constexpr std::uintptr_t widest_word = 16;

std::uintptr_t rest(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % widest_word; }

}  // namespace

void Exchange::Impl::count_combinations() {
  std::int64_t count = 1;
  std::string copies;
  for (const auto& item : items)
    for (const Field* field : {item.source, &item.to()}) {
      if (field->options().copies == 1 || std::find(copied.begin(), copied.end(), field) != copied.end()) continue;
      copied.push_back(field);
      count = std::min(count * field->options().copies, std::int64_t{1} << 32);
      copies += (copies.empty() ? "" : " x ") + std::to_string(field->options().copies);
    }
  if (count > most_combinations)
    throw Error(ErrorCode::unsupported,
                "the fields of one exchange have " + copies + " copies, which can be current in " +
                    std::to_string(count) + " combinations, and at most " + std::to_string(most_combinations) +
                    " are listed: put fields that swap into two exchanges or more",
                {{"combinations", count}, {"limit", most_combinations}});
  combinations = static_cast<int>(count);
}

/// The plan has addresses of these fields' arrays.
void Exchange::Impl::note_generations() {
  for (const auto& item : items)
    for (const Field* field :
         {static_cast<const Field*>(item.produced ? nullptr : item.source), static_cast<const Field*>(&item.to())})
      if (field) generations.emplace_back(field, field->generation());
}

void Exchange::Impl::check_generations() const {
  for (const auto& [field, generation] : generations)
    if (field->generation() != generation)
      throw Error(
          ErrorCode::wrong_state,
          "field " + field->options().name +
              " has dropped or remade its arrays since its exchange was made, which would use the memory of the old "
              "ones: make the exchange anew",
          {{"field", field->options().name}});
}

/// Which of a field's arrays is current in a combination.
int Exchange::Impl::copy_in(int combination, const Field& field) const {
  for (const Field* other : copied) {
    if (other == &field) return combination % field.options().copies;
    combination /= other->options().copies;
  }
  return 0;
}

int Exchange::Impl::current_combination() const {
  int current = 0, radix = 1;
  for (const Field* field : copied) {
    current += radix * field->physical(0);
    radix *= field->options().copies;
  }
  return current;
}

Field& Exchange::Impl::field_of(const ArrayName& name) const {
  const ExchangeItem& item = items[static_cast<std::size_t>(name.item)];
  return name.end == ItemEnd::source ? *item.source : item.to();
}

/// As a device of this rank reaches it: the block may be another device's.
std::byte* Exchange::Impl::address_of(const ArrayName& name, int copy, const Side& side) {
  const ExchangeItem& item = items[static_cast<std::size_t>(name.item)];
  const Grid& on = name.end == ItemEnd::source ? grid : item.pattern->target(grid);
  const int device = on.block(name.block).device;
  if (device == side.index) return field_of(name).array(name.block, copy);
  return static_cast<std::byte*>(
      directory.find({Directory::What::field, device, -1, name.item, copy, name.block}, side.device));
}

/// In the list of those that may change.
int Exchange::Impl::number_of(const ArrayName& name, Side& side) {
  const auto [found, added] = side.array_numbers.try_emplace(name, side.arrays.count);
  if (!added) return found->second;
  ++side.arrays.count;
  std::vector<std::byte*>& places = side.array_places.emplace_back();
  const Field& field = field_of(name);
  for (int c = 0; c < combinations; ++c) places.push_back(address_of(name, copy_in(c, field), side));
  side.arrays.planned.push_back(places.front());
  return found->second;
}

Place Exchange::Impl::place_of(const Leg& leg, ItemEnd end, Side& side) {
  const ExchangeItem& item = items[static_cast<std::size_t>(leg.item)];
  const bool at_source = end == ItemEnd::source;
  const std::int64_t block = at_source ? leg.transfer->source_block : leg.transfer->target_block;
  const bool one = !item.target && &item.pattern->target(grid) == &grid;
  const ArrayName name{leg.item, one ? ItemEnd::source : end, block};
  const Field& field = field_of(name);
  Place place;
  place.type = field.options().type;
  place.free_gaps = !field.options().adopted;
  place.shape = block_shape(field.grid(), block, field.options());
  if (at_source && leg.produced) return place;  // never read
  if (item.rebinds || field.options().copies > 1) {
    place.array = number_of(name, side);
    place.origin = side.arrays.planned[static_cast<std::size_t>(place.array)];
  } else {
    place.origin = address_of(name, 0, side);
  }
  place.origin += place.shape.origin * static_cast<std::int64_t>(size_of(place.type));
  return place;
}

/// Of a message's legs.
std::vector<Place> Exchange::Impl::places(const Channel& channel, ItemEnd end, Side& side) {
  std::vector<Place> all;
  for (const Leg& leg : channel.bundle->legs) all.push_back(place_of(leg, end, side));
  return all;
}

/// Once all are numbered.
void Exchange::Impl::place_arrays(Side& side) {
  Arrays& arrays = side.arrays;
  if (!arrays.count) return;
  const std::size_t combinations = side.array_places.front().size();
  arrays.host.clear();
  for (std::size_t c = 0; c < combinations; ++c)
    for (const auto& places : side.array_places) arrays.host.push_back(places[c]);
  arrays.device = upload(side.device, arrays.host);
}

void Exchange::Impl::bind(std::size_t index, ItemEnd end, const std::vector<void*>& arrays,
                          std::vector<Stream>& streams) {
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
  if (open || opened)
    throw Error(ErrorCode::wrong_state, what + "cannot be bound anew between begin and end", {{"item", index}});
  check_streams(streams);
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
  for (std::size_t s = 0; s < sides.size(); ++s) {
    Side& side = *sides[s];
    std::vector<ArrayPlace> changed;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto found = side.array_numbers.find({static_cast<int>(index), end, blocks[b]});
      if (found == side.array_numbers.end()) continue;
      for (int c = 0; c < combinations; ++c) {
        auto* const array = static_cast<std::byte*>(arrays[b * copies + static_cast<std::size_t>(copy_in(c, field))]);
        const int at = c * side.arrays.count + found->second;
        side.arrays.host[static_cast<std::size_t>(at)] = array;
        changed.push_back({at, array});
      }
    }
    store_places(streams[s], side.arrays.device.data(), changed);
  }
  bound_anew = true;
}

/// The plan was made for values that are not moved onto each other.
void Exchange::Impl::check_bound() {
  if (!bound_anew) return;
  if (!overlaps)
    for (const auto& side : sides)
      for (std::size_t i = 0; i < items.size(); ++i) check_bound(*side, static_cast<int>(i));
  bound_anew = false;
}

void Exchange::Impl::check_bound(const Side& side, int index) const {
  const ExchangeItem& item = items[static_cast<std::size_t>(index)];
  if (!item.rebinds || !item.target || item.produced) return;
  for (int c = 0; c < combinations; ++c) {
    const auto bytes = [&](const Field& field, std::int64_t block, int number) {
      const std::byte* const array = side.arrays.host[static_cast<std::size_t>(c * side.arrays.count + number)];
      return bytes_of(array, field.shape(block), field.options());
    };
    std::vector<std::pair<Bytes, std::int64_t>> sources, targets;  // with their blocks
    for (const auto& [name, number] : side.array_numbers) {
      if (name.item != index) continue;
      if (name.end == ItemEnd::source)
        sources.emplace_back(bytes(*item.source, name.block, number), name.block);
      else if (item.target->grid().block(name.block).device == side.index)
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

#include "mover/lower.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <slipstream/error.hpp>
#include <slipstream/signal.hpp>

#include "device/upload.hpp"
#include "mover/coded_movers.hpp"
#include "mover/parts.hpp"

namespace slipstream {
namespace {

/// Parts of a message have at least 2 MB: a launch takes as long as the transfer of some hundred kilobytes to the host.
constexpr std::size_t smallest_part = 2 << 20, largest_part = 32 << 20;
constexpr std::size_t most_parts = 16, most_parts_unasked = 64;

/// Number of cells in the first half of a length that is split in two: a multiple of the coded block's length.
std::int64_t half(std::int64_t cells, std::int64_t block) {
  return std::max(cells / 2 / block, std::int64_t{1}) * block;
}

/// Splits a box into halves in its order of values: by components, else along its slowest axis.
std::pair<IndexSet, IndexSet> halves_in_order(const IndexSet& whole) {
  IndexSet first = whole, second = whole;
  if (const std::size_t components = whole.components.size(); components > 1) {
    const auto middle = whole.components.begin() + static_cast<std::ptrdiff_t>(components / 2);
    first.components.assign(whole.components.begin(), middle);
    second.components.assign(middle, whole.components.end());
    return {first, second};
  }
  const int axis = whole.box.extent(2) > 1 ? 2 : whole.box.extent(1) > 1 ? 1 : 0;
  first.box.hi[axis] = second.box.lo[axis] = whole.box.lo[axis] + half(whole.box.extent(axis), 1);
  return {first, second};
}

/// Splits a transfer of listed elements into two. If one end is a box, the box is halved and the list is cut to match.
std::pair<Transfer, Transfer> halves_of_list(const Leg& leg, const Transfer& whole) {
  Transfer a = whole, b = whole;
  std::int64_t middle = half(whole.source.size(), leg.block.extent[0]);
  for (auto set : {&Transfer::source, &Transfer::target})
    if (!(whole.*set).ids) {
      std::tie(a.*set, b.*set) = halves_in_order(whole.*set);
      middle = (a.*set).size();
    }
  for (auto set : {&Transfer::source, &Transfer::target})
    if (const auto& ids = (whole.*set).ids) {
      (a.*set).ids = std::make_shared<const std::vector<std::int64_t>>(ids->begin(), ids->begin() + middle);
      (b.*set).ids = std::make_shared<const std::vector<std::int64_t>>(ids->begin() + middle, ids->end());
    }
  return {a, b};
}

/// Splits source and target of a transfer into matching halves, by components first if these are stored apart.
std::pair<Transfer, Transfer> halves(const Leg& leg, const Transfer& whole) {
  if (whole.source.ids || whole.target.ids) return halves_of_list(leg, whole);
  Transfer a = whole, b = whole;
  for (auto set : {&Transfer::source, &Transfer::target}) {
    IndexSet &first = a.*set, &second = b.*set;
    const std::size_t components = first.components.size();
    if (components > 1 && leg.layout != Layout::aos) {
      second.components.erase(second.components.begin(),
                              second.components.begin() + static_cast<std::ptrdiff_t>(components / 2));
      first.components.resize(components / 2);
      continue;
    }
    const Extent extent = by_rows(leg.layout, whole.source.box.extents());
    const auto* const block = leg.block.extent;
    const int slowest = extent[2] > block[2] ? 2 : extent[1] > block[1] ? 1 : 0;
    const int from = row_axis(leg.layout) == 2 ? 2 - slowest : slowest;
    const int axis = set == &Transfer::source ? from : whole.axes[static_cast<std::size_t>(from)];
    first.box.hi[axis] = second.box.lo[axis] = first.box.lo[axis] + half(first.box.extent(axis), block[slowest]);
  }
  return {a, b};
}

void pieces(const Leg& leg, const Transfer& whole, std::size_t limit, std::vector<Transfer>& out) {
  Leg part = leg;
  part.transfer = &whole;
  const bool apart = leg.layout == Layout::aos || whole.source.components.size() < 2;
  const bool single = volume(blocks_of(packed_extent(part), leg.block)) < 2 && (whole.source.ids || apart);
  if (part.bytes() <= limit || single) {
    out.push_back(whole);
    return;
  }
  const auto [a, b] = halves(leg, whole);
  pieces(leg, a, limit, out);
  pieces(leg, b, limit, out);
}

}  // namespace

Extent packed_extent(const Leg& leg) {
  const IndexSet& set = leg.transfer->source;
  if (!set.ids) return in_order(leg, set.box.extents());
  return {static_cast<std::int64_t>(set.ids->size()), 1, 1};
}

std::size_t Leg::bytes() const {
  if (wire.by_value()) return static_cast<std::size_t>(transfer->source.size()) * size_of(wire, type);
  const std::size_t components = transfer->source.ids ? 1 : transfer->source.components.size();
  return components * wire.bytes_of(type, packed_extent(*this), block);
}

Extent in_order(const Leg& leg, const Extent& by_axis) {
  const bool listed = leg.transfer->source.ids || leg.transfer->target.ids;
  return listed ? by_axis : by_rows(leg.layout, by_axis);
}

Extent target_in_order(const Leg& leg, const Extent& by_axis) {
  const auto& axes = leg.transfer->axes;
  return in_order(leg, {by_axis[axes[0]], by_axis[axes[1]], by_axis[axes[2]]});
}

bool rows_hold_components(const Leg& leg) {
  const auto& listed = leg.transfer->source.components;
  if (!leg.wire.by_value()) return false;
  if (leg.layout != Layout::aos || leg.target_layout != Layout::aos || leg.transfer->axes[0] != 0) return false;
  if (leg.target_components != leg.components || leg.transfer->source.ids || leg.transfer->target.ids) return false;
  if (static_cast<int>(listed.size()) != leg.components || leg.transfer->target.components != listed) return false;
  for (int c = 0; c < leg.components; ++c)
    if (listed[c] != c) return false;
  return true;
}

std::size_t row_bytes(const Leg& leg) {
  const std::size_t size = size_of(leg.type);
  if (leg.transfer->source.ids || leg.transfer->target.ids) return size;
  const auto width = static_cast<std::size_t>(leg.transfer->target.box.extent(row_axis(leg.target_layout)));
  if (rows_hold_components(leg)) return width * size * leg.components;
  return leg.target_layout != Layout::aos || leg.target_components == 1 ? width * size : size;
}

std::shared_ptr<const Cut> cut(const std::vector<Leg>& legs, std::size_t limit) {
  auto result = std::make_shared<Cut>();
  std::size_t all = 0;
  for (const Leg& leg : legs) all += round_up(leg.bytes(), leg_alignment);
  if (all == 0) return result;
  const std::size_t chunks = (all + limit - 1) / limit;
  result->chunks.resize(chunks);
  std::size_t lightest = 0;
  for (std::size_t l = 0; l < legs.size(); ++l) {
    const std::size_t bytes = legs[l].bytes();
    std::vector<Transfer> parts;
    pieces(legs[l], *legs[l].transfer, std::max((bytes + chunks - 1) / chunks, std::min<std::size_t>(limit, 16384)),
           parts);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      // A large transfer is spread over all chunks in which the message is sent. Small transfers go to them in turn.
      const std::size_t to = parts.size() > 1 ? p * chunks / parts.size() : lightest++ % chunks;
      Chunk& chunk = result->chunks[to];
      result->transfers.push_back(std::move(parts[p]));
      Leg leg = legs[l];
      leg.transfer = &result->transfers.back();
      const std::size_t bytes_here = leg.bytes();
      leg.offset = round_up(chunk.bytes, bytes_here < large_leg ? leg_alignment : large_leg_alignment);
      chunk.bytes = leg.offset + round_up(bytes_here, leg_alignment);
      chunk.legs.push_back(leg);
      chunk.parent.push_back(l);
    }
  }
  std::erase_if(result->chunks, [](const Chunk& chunk) { return chunk.legs.empty(); });
  for (const Chunk& chunk : result->chunks)
    result->slot_bytes = std::max(result->slot_bytes, round_up(chunk.bytes, slot_alignment));
  return result;
}

std::shared_ptr<const Cut> parts_of(const Message& message, const std::vector<Leg>& legs) {
  const Knobs& knobs = message.knobs;
  if (message.through_slots() || knobs.pack != Pack::fused || knobs.streams != Lanes::per_direction || knobs.sync)
    return {};
  std::size_t each = std::clamp(message.bytes / 8, smallest_part, largest_part);
  each = std::max(each, message.bytes / most_parts_unasked);
  if (knobs.chunk > 0) each = std::max(static_cast<std::size_t>(knobs.chunk), message.bytes / most_parts);
  if (message.bytes < 2 * each) return {};
  auto parts = cut(legs, each);
  return parts->chunks.size() > 1 ? parts : nullptr;
}

std::size_t bytes_of_parts(const Cut& parts) {
  std::size_t bytes = 0;
  for (const Chunk& chunk : parts.chunks) bytes += round_up(chunk.bytes, slot_alignment);
  return bytes;
}

/// One end of a transfer: a sequence of pieces (components) of equal size. Each piece is a strided box, a contiguous
/// run or a list of elements.
struct Lowering::End {
  std::byte* base = nullptr;
  int array = -1;
  Extent extent{0, 0, 0};
  std::int64_t stride[3] = {0, 0, 0};
  std::vector<std::int64_t> piece_offset;  // index of each component's first value in a strided box; else empty
  const std::int64_t* ids = nullptr;
  std::int64_t count = 0;
  Ring ring;
  bool dense = false;
  bool free_gaps = false;
};

const std::int64_t* Lowering::keep(const std::vector<std::int64_t>& ids) {
  lists_.push_back(upload(device_, ids));
  return lists_.back().data();
}

int values_of(const Mover& mover) {
  const bool codes = mover.recode == Recode::decode;
  return mover.recode == Recode::none || !mover.wire.by_value()
             ? 1
             : mover.word / static_cast<int>(codes ? size_of(mover.wire, mover.type) : size_of(mover.type));
}

int target_word(const Mover& mover) { return mover.target_word() * values_of(mover); }

namespace {

/// Splits each word of a mover (a copy) into `parts` smaller words.
Mover split(Mover mover, int parts) {
  mover.extent[0] *= parts;
  for (int a = 1; a < 3; ++a) {
    mover.source_stride[a] *= parts;
    mover.target_stride[a] *= parts;
  }
  mover.word /= parts;
  return mover;
}

}  // namespace

Mover by_values(Mover mover) { return split(mover, values_of(mover)); }

std::int64_t Lowering::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& list : lists_) bytes += bytes_of(list);
  return bytes;
}

Lowering::End Lowering::field_end(const Leg& leg, IndexSet Transfer::*end_of, const Place& place) {
  const IndexSet& set = leg.transfer->*end_of;
  const auto in_packing_order = end_of == &Transfer::source ? in_order : target_in_order;
  End end;
  end.base = place.origin;
  end.array = place.array;
  end.count = set.size();
  // Padding between rows may be overwritten only if the box extends to the end of the ghost cells along its rows.
  const int along = place.shape.row_axis;
  const std::int64_t ghost = place.shape.ghost[along];
  end.free_gaps =
      place.free_gaps && (set.box.lo[along] == -ghost || set.box.hi[along] == place.shape.extent[along] + ghost);
  if (set.ids) {
    end.ids = keep(*set.ids);
    return end;
  }
  end.extent = in_packing_order(leg, set.box.extents());
  const std::int64_t* const own = place.shape.stride;
  const Extent stride = in_packing_order(leg, {own[0], own[1], own[2]});
  std::copy(stride.begin(), stride.end(), end.stride);
  const std::int64_t corner = std::inner_product(set.box.lo.begin(), set.box.lo.end(), own, std::int64_t{0});
  if (rows_hold_components(leg)) {
    end.extent[0] *= leg.components;
    end.stride[0] = 1;
    end.piece_offset.push_back(corner);
  } else {
    for (const int c : set.components) end.piece_offset.push_back(corner + c * place.shape.component_stride);
  }
  return end;
}

Lowering::End Lowering::slot_end(const Leg& leg, const Slot& slot) {
  End end;
  end.base = slot.base + leg.offset;
  end.count = leg.transfer->source.size();
  end.ring = slot.ring;
  end.dense = true;
  return end;
}

namespace {

void set_side(std::int64_t* strides, const Extent& extent, bool dense, const std::int64_t* own) {
  if (dense) {
    strides[0] = 1;
    strides[1] = extent[0];
    strides[2] = extent[0] * extent[1];
  } else {
    for (int a = 0; a < 3; ++a) strides[a] = own[a];
  }
}

bool divides(const std::byte* address, const std::int64_t* stride, const std::int64_t* extent, const Ring& ring,
             int word, int size) {
  const auto whole = [&](std::int64_t bytes) { return bytes % word == 0; };
  if (stride[0] != 1 || !whole(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % word)))
    return false;
  for (int a = 1; a < 3; ++a)
    if (extent[a] > 1 && !whole(stride[a] * size)) return false;
  return whole(ring.bytes);
}

/// Shortest row in bytes that wide loads and stores copy although values are left over for a separate copy.
constexpr std::int64_t long_row = 128;

/// Whether addresses and strides at both ends are multiples of `factor` values. If nothing is encoded, `factor` counts
/// words of the mover.
bool serves(const Mover& mover, int factor) {
  return divides(mover.source, mover.source_stride, mover.extent, mover.source_ring, factor * mover.word, mover.word) &&
         divides(mover.target, mover.target_stride, mover.extent, mover.target_ring, factor * target_word(mover),
                 target_word(mover));
}

void use_words(Mover& mover, int factor) {
  mover.extent[0] /= factor;
  for (int a = 1; a < 3; ++a) {
    mover.source_stride[a] /= factor;
    mover.target_stride[a] /= factor;
  }
  mover.word *= factor;
}

/// Factors by which a copy's loads and stores may be widened, largest first. Coded values: to 16 bytes, or not at all.
std::vector<int> wider(const Mover& mover) {
  if (mover.source_ids || mover.target_ids || mover.op != Op::copy || !mover.wire.by_value()) return {};
  std::vector<int> factors;
  if (mover.recode == Recode::none) {
    for (const int word : {16, 8, 4, 2})
      if (word > mover.word) factors.push_back(word / mover.word);
  } else if (const int together = 16 / static_cast<int>(size_of(mover.type)); together > 1) {
    factors.push_back(together);
  }
  return factors;
}

/// Widens a copy's loads and stores as far as its rows are aligned. Leftover values of long rows get a separate copy.
void widen(Mover mover, std::vector<Mover>& movers) {
  const std::int64_t values = mover.extent[0];
  for (const int factor : wider(mover)) {
    const std::int64_t rest = values % factor;
    if ((rest && values * mover.word < long_row) || values < factor || !serves(mover, factor)) continue;
    Mover end = mover;
    mover.extent[0] -= rest;
    end.extent[0] = rest;
    end.source += (values - rest) * mover.word;
    end.target += (values - rest) * target_word(mover);
    use_words(mover, factor);
    movers.push_back(mover);
    if (rest) widen(end, movers);
    return;
  }
  movers.push_back(mover);
}

}  // namespace

/// Describes a copy from one end of a transfer to the other, still without word size in bytes, addresses and strides.
Mover Lowering::between(const End& source, const End& target, const Leg& leg, const Extent& extent) {
  Mover mover;
  std::copy(extent.begin(), extent.end(), mover.extent);
  mover.type = leg.type;
  mover.item = leg.item;
  if (leg.coded()) {
    mover.recode = target.dense ? Recode::encode : source.dense ? Recode::decode : Recode::round;
    mover.wire = leg.wire;
  }
  mover.source_array = source.array;
  mover.target_array = target.array;
  mover.source_ids = source.ids;
  mover.target_ids = target.ids;
  mover.source_ring = source.ring;
  mover.target_ring = target.ring;
  mover.free_gaps = target.free_gaps;
  return mover;
}

void Lowering::join(const End& source, const End& target, const Leg& leg, bool wide, std::vector<Mover>& movers) {
  require(source.count == target.count, ErrorCode::internal,
          "a transfer lists " + std::to_string(source.count) + " values at its source and " +
              std::to_string(target.count) + " at its target");
  if (!leg.wire.by_value()) return join_blocks(source, target, leg, movers);
  const auto size = [&](const End& end) {
    return static_cast<std::int64_t>(end.dense ? size_of(leg.wire, leg.type) : size_of(leg.type));
  };
  const End& shaped = source.piece_offset.empty() ? target : source;
  const std::size_t count = std::max<std::size_t>(1, shaped.piece_offset.size());
  const std::int64_t each = source.count / static_cast<std::int64_t>(count);
  const Extent extent = shaped.piece_offset.empty() ? Extent{source.count, 1, 1} : shaped.extent;
  for (std::size_t p = 0; p < count; ++p) {
    Mover mover = between(source, target, leg, extent);
    mover.word = static_cast<int>(size(source));
    const auto offset = [&](const End& end) {
      return end.piece_offset.empty() ? (end.ids ? 0 : static_cast<std::int64_t>(p) * each) : end.piece_offset[p];
    };
    mover.source = source.base + offset(source) * size(source);
    mover.target = target.base + offset(target) * size(target);
    if (source.ids) mover.source_ids += p * each;
    if (target.ids) mover.target_ids += p * each;
    set_side(mover.source_stride, extent, source.dense, source.stride);
    set_side(mover.target_stride, extent, target.dense, target.stride);
    if (wide) {
      widen(mover, movers);
    } else {
      movers.push_back(mover);
    }
  }
}

/// Lists the copies of values that a block coding compresses. Real and imaginary parts are coded by separate copies.
void Lowering::join_blocks(const End& source, const End& target, const Leg& leg, std::vector<Mover>& movers) {
  const End& shaped = source.piece_offset.empty() ? target : source;
  const std::size_t count = std::max<std::size_t>(1, shaped.piece_offset.size());
  const Extent extent = packed_extent(leg);
  const std::int64_t parts = is_complex(leg.type) ? 2 : 1;
  const auto size = static_cast<std::int64_t>(size_of(part_type(leg.type)));
  const auto bytes = static_cast<std::int64_t>(leg.wire.bytes_of(part_type(leg.type), extent, leg.block));
  std::int64_t packed = 0;
  for (std::size_t p = 0; p < count; ++p)
    for (std::int64_t part = 0; part < parts; ++part, packed += bytes) {
      Mover mover = between(source, target, leg, extent);
      mover.word = static_cast<int>(size);
      mover.type = part_type(leg.type);
      mover.block = leg.block;
      const auto at = [&](const End& end) {
        if (end.dense) return end.base + packed;
        return end.base + ((end.ids ? 0 : end.piece_offset[p]) * parts + part) * size;
      };
      mover.source = at(source);
      mover.target = at(target);
      for (int a = 0; a < 3; ++a) {
        mover.source_stride[a] = source.ids ? parts : source.stride[a] * parts;
        mover.target_stride[a] = target.ids ? parts : target.stride[a] * parts;
      }
      movers.push_back(mover);
    }
}

std::vector<Mover> Lowering::decoding(const Leg& leg, const std::byte* values, std::byte* to) {
  Leg raw = leg;
  raw.wire = Wire::same;
  const Extent extent = packed_extent(leg);
  const bool mixed = rows_hold_components(raw);
  const std::int64_t components =
      leg.transfer->source.ids ? 1 : static_cast<std::int64_t>(leg.transfer->source.components.size());
  End source, target;
  source.base = const_cast<std::byte*>(values);
  source.dense = true;
  target.base = to;
  target.extent = extent;
  target.stride[0] = mixed ? components : 1;
  for (int a = 1; a < 3; ++a) target.stride[a] = target.stride[a - 1] * extent[static_cast<std::size_t>(a - 1)];
  for (std::int64_t c = 0; c < components; ++c) target.piece_offset.push_back(mixed ? c : c * volume(extent));
  std::vector<Mover> movers;
  join_blocks(source, target, leg, movers);
  return movers;
}

std::vector<Mover> Lowering::box_to_box(const std::vector<Leg>& legs, const Places& sources, const Places& targets) {
  std::vector<Mover> movers;
  for (std::size_t i = 0; i < legs.size(); ++i)
    if (legs[i].produced) {
      add_windows(legs[i], targets[i], windows_);
    } else {
      join(field_end(legs[i], &Transfer::source, sources[i]), field_end(legs[i], &Transfer::target, targets[i]),
           legs[i], true, movers);
    }
  return movers;
}

std::vector<Mover> Lowering::to_slot(const std::vector<Leg>& legs, const Places& sources, const Slot& slot, bool wide) {
  std::vector<Mover> movers;
  for (std::size_t i = 0; i < legs.size(); ++i)
    if (legs[i].produced) {
      add_windows(legs[i], slot, windows_);
    } else {
      join(field_end(legs[i], &Transfer::source, sources[i]), slot_end(legs[i], slot), legs[i], wide, movers);
    }
  return movers;
}

std::vector<Mover> Lowering::from_slot(const std::vector<Leg>& legs, const Places& targets, const Slot& slot,
                                       bool wide) {
  std::vector<Mover> movers;
  for (std::size_t i = 0; i < legs.size(); ++i)
    join(slot_end(legs[i], slot), field_end(legs[i], &Transfer::target, targets[i]), legs[i], wide, movers);
  return movers;
}

std::vector<Mover> Lowering::unpack(const Message& message, const std::vector<Leg>& legs, const Places& targets,
                                    const Slot& slot, std::vector<Arrived>& arrived) {
  if (!message.combines) return from_slot(legs, targets, slot);
  for (const Leg& leg : legs) arrived.push_back({&leg, slot.base + leg.offset});
  return {};
}

bool fits_packets(const Leg& leg) {
  if (leg.coded()) return false;
  if (leg.transfer->source.ids || leg.transfer->target.ids) return false;
  const std::size_t size = size_of(leg.type);
  if (size <= 4) return size == 4;
  // Values wider than a word take several words, which must be contiguous within rows at both ends.
  const bool apart = leg.layout != Layout::aos || leg.components == 1;
  const bool target_apart = leg.target_layout != Layout::aos || leg.target_components == 1;
  const bool along = leg.transfer->axes[row_axis(leg.layout)] == row_axis(leg.target_layout);
  return rows_hold_components(leg) || (apart && target_apart && along);
}

std::size_t packet_bytes(const Leg& leg) {
  const std::size_t boxes = rows_hold_components(leg) ? 1 : leg.transfer->source.components.size();
  const auto words = static_cast<std::int64_t>(leg.transfer->source.size() * size_of(leg.type) / 4 / boxes);
  return boxes * static_cast<std::size_t>(packets_for(words)) * sizeof(Packet);
}

namespace {

/// Assigns consecutive packets in the receive buffer, of words of 4 bytes, to each mover. Wider values are contiguous
/// within rows.
std::vector<Mover> through_packets(std::vector<Mover> movers, Mover::Packets end, const Slot& slot) {
  std::byte* line = slot.base;
  for (Mover& mover : movers) {
    mover = split(mover, mover.word / 4);
    mover.packets = end;
    if (end == Mover::Packets::target) mover.target = line;
    if (end == Mover::Packets::source) mover.source = line;
    line += packets_for(mover.words()) * static_cast<std::int64_t>(sizeof(Packet));
  }
  return movers;
}

}  // namespace

std::vector<Mover> Lowering::to_packets(const std::vector<Leg>& legs, const Places& sources, const Slot& slot) {
  return through_packets(to_slot(legs, sources, slot, false), Mover::Packets::target, slot);
}

std::vector<Mover> Lowering::from_packets(const std::vector<Leg>& legs, const Places& targets, const Slot& slot) {
  return through_packets(from_slot(legs, targets, slot, false), Mover::Packets::source, slot);
}

}  // namespace slipstream

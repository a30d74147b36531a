#include "exchange/overlaps.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "exchange/elements.hpp"

namespace slipstream {
namespace {

/// Values that a transfer reads (at its source) or writes (at its target), in each array of the field on this rank.
std::vector<Touched> touched(const Grid& grid, const ExchangeItem& item, const Leg& leg, ItemEnd end) {
  const bool at_source = end == ItemEnd::source;
  const Field& field = at_source ? *item.source : item.to();
  const Grid& on = at_source ? grid : item.pattern->target(grid);
  const std::int64_t block = at_source ? leg.transfer->source_block : leg.transfer->target_block;
  if (grid.machine().device(on.block(block).device).rank != grid.rank()) return {};
  std::vector<Touched> all;
  for (int copy = 0; copy < field.options().copies; ++copy)
    if (const std::byte* const array = field.array(block, copy))
      all.push_back({array, field.shape(block), field.options().type,
                     at_source ? &leg.transfer->source : &leg.transfer->target,
                     bytes_of(array, field.shape(block), field.options())});
  return all;
}

/// Whether a transfer copies values onto themselves: source and target are the same memory.
bool rests(const Grid& grid, const std::vector<ExchangeItem>& items, const Leg& leg) {
  const ExchangeItem& item = items[static_cast<std::size_t>(leg.item)];
  const Transfer& t = *leg.transfer;
  const bool same_cells = t.op == Op::copy && !t.source.ids && !t.target.ids && t.source.box == t.target.box &&
                          t.source.components == t.target.components && t.axes == std::array<int, 3>{0, 1, 2};
  if (!same_cells || leg.coded() || leg.produced || leg.rebinds) return false;
  const std::vector<Touched> from = touched(grid, item, leg, ItemEnd::source),
                             to = touched(grid, item, leg, ItemEnd::target);
  if (from.empty() || (from.size() > 1 && item.source != &item.to())) return false;
  return std::equal(from.begin(), from.end(), to.begin(), to.end(),
                    [](const Touched& a, const Touched& b) { return a.alike(b); });
}

}  // namespace

Bytes bytes_of(const std::byte* array, const BlockShape& shape, const FieldOptions& field) {
  const auto size = static_cast<std::int64_t>(size_of(field.type));
  if (shape.stride[1] == 0) return {array, array + shape.elements * size};  // rows without gaps: the block is one range
  std::int64_t first = shape.origin, last = shape.origin + (field.components - 1) * shape.component_stride;
  for (int a = 0; a < 3; ++a) {
    first -= shape.ghost[a] * shape.stride[a];
    last += (shape.extent[a] + shape.ghost[a] - 1) * shape.stride[a];
  }
  return {array + first * size, array + (last + 1) * size};
}

bool Touched::alike(const Touched& other) const {
  return array == other.array && type == other.type && shape.origin == other.shape.origin &&
         shape.component_stride == other.shape.component_stride &&
         std::equal(shape.stride, shape.stride + 3, other.shape.stride);
}

void Reads::InArray::add(const Touched& t) {
  if (sets.empty()) around = t.set->box;
  for (int a = 0; a < 3; ++a) {
    around.lo[a] = std::min(around.lo[a], t.set->box.lo[a]);
    around.hi[a] = std::max(around.hi[a], t.set->box.hi[a]);
  }
  sets.push_back(t);
  alike = alike && t.alike(sets.front());
}

Reads::Reads(const Grid& grid, const std::vector<ExchangeItem>& items, const Bundles& bundles)
    : grid_(grid), items_(items) {
  std::map<const std::byte*, std::pair<Bytes, InArray>> found;
  bool listed = false;
  for (const auto& [devices, b] : bundles.by_pair)
    for (const Leg& leg : b.legs) {
      listed |= leg.transfer->source.ids || leg.transfer->target.ids;
      if (leg.produced) continue;
      for (const Touched& t : touched(grid, items[static_cast<std::size_t>(leg.item)], leg, ItemEnd::source)) {
        auto& [bytes, reads] = found.try_emplace(t.array, t.bytes, InArray{}).first->second;
        bytes = {std::min(bytes.first, t.bytes.first), std::max(bytes.behind, t.bytes.behind)};
        reads.add(t);
      }
    }
  std::vector<std::pair<Bytes, InArray>> all;
  for (auto& [array, entry] : found) {
    InArray& reads = entry.second;
    for (const Touched& t : reads.sets) {
      if (!listed || !reads.alike) break;
      reads.elements.resize(std::max(reads.elements.size(), static_cast<std::size_t>(t.shape.elements)));
      any_element(*t.set, t.shape, [&](std::int64_t element) {
        reads.elements.at(static_cast<std::size_t>(element)) = true;
        return false;
      });
    }
    all.push_back(std::move(entry));
  }
  arrays_ = Intervals<InArray>(std::move(all));
}

bool Reads::InArray::holds_some_of(const Touched& t) const {
  if (!alike || !sets.front().alike(t)) return true;
  if (!elements.empty())
    return any_element(*t.set, t.shape, [&](std::int64_t element) {
      const auto at = static_cast<std::size_t>(element);
      return at < elements.size() && elements[at];
    });
  if (intersection(around, t.set->box).empty()) return false;
  return std::any_of(sets.begin(), sets.end(), [&](const Touched& read) {
    return share_components(*read.set, *t.set) && !intersection(read.set->box, t.set->box).empty();
  });
}

bool Reads::touched_by(const Leg& leg) const {
  for (const Touched& t : touched(grid_, items_[static_cast<std::size_t>(leg.item)], leg, ItemEnd::target))
    if (arrays_.any_meeting(t.bytes, [&](const InArray& reads) { return reads.holds_some_of(t); })) return true;
  return false;
}

void leave_what_rests(const Grid& grid, const std::vector<ExchangeItem>& items, Bundles& bundles) {
  for (auto& [devices, b] : bundles.by_pair) {
    if (b.source != b.target) continue;
    if (std::erase_if(b.legs, [&](const Leg& leg) { return rests(grid, items, leg); })) place_legs(b);
  }
  std::erase_if(bundles.by_pair, [](const auto& entry) { return entry.second.legs.empty(); });
}

bool moved_onto_itself(const Grid& grid, const std::vector<ExchangeItem>& items, const Bundles& bundles) {
  // Exchanges that combine values, as by addition, read all values before they change any, so overlaps do no harm.
  if (std::any_of(items.begin(), items.end(), [](const auto& item) { return item.pattern->op() != Op::copy; }))
    return false;
  const Reads reads(grid, items, bundles);
  return std::any_of(bundles.by_pair.begin(), bundles.by_pair.end(), [&](const auto& entry) {
    return std::any_of(entry.second.legs.begin(), entry.second.legs.end(),
                       [&](const Leg& leg) { return reads.touched_by(leg); });
  });
}

}  // namespace slipstream

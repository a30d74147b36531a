#include "exchange/overlaps.hpp"

#include <algorithm>
namespace slipstream {
namespace {

/// That end of a transfer, in each copy of its field; nothing where it is not of this rank, or has no arrays.
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

bool share_components(const IndexSet& a, const IndexSet& b) {
  return std::any_of(a.components.begin(), a.components.end(), [&](int component) {
    return std::find(b.components.begin(), b.components.end(), component) != b.components.end();
  });
}

/// Calls f(element of the array) until it returns true; whether it did.
template <class F>
bool any_element(const Touched& t, F f) {
  if (t.set->ids)
    return std::any_of(t.set->ids->begin(), t.set->ids->end(), [&](std::int64_t id) { return f(t.shape.origin + id); });
  const Box& box = t.set->box;
  for (const int c : t.set->components)
    for (std::int64_t z = box.lo[2]; z < box.hi[2]; ++z)
      for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y)
        for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x)
          if (f(t.shape.origin + c * t.shape.component_stride + x * t.shape.stride[0] + y * t.shape.stride[1] +
                z * t.shape.stride[2]))
            return true;
  return false;
}

/// Whether the target's values are the source's own, in their own places.
bool rests(const Grid& grid, const std::vector<ExchangeItem>& items, const Leg& leg) {
  const ExchangeItem& item = items[static_cast<std::size_t>(leg.item)];
  const Transfer& t = *leg.transfer;
  const bool same_cells = t.op == Op::copy && !t.source.ids && !t.target.ids && t.source.box == t.target.box &&
                          t.source.components == t.target.components && t.axes == std::array<int, 3>{0, 1, 2};
  if (!same_cells || leg.coded() || leg.produced || leg.rebinds) return false;
  const std::vector<Touched> from = touched(grid, item, leg, ItemEnd::source),
                             to = touched(grid, item, leg, ItemEnd::target);
  if (from.size() != to.size() || from.empty()) return false;
  if (from.size() > 1 && item.source != &item.to()) return false;
  for (std::size_t copy = 0; copy < from.size(); ++copy)
    if (!from[copy].alike(to[copy])) return false;
  return true;
}

}  // namespace

Bytes bytes_of(const std::byte* array, const BlockShape& shape, const FieldOptions& field) {
  const auto size = static_cast<std::int64_t>(size_of(field.type));
  if (shape.stride[1] == 0) return {array, array + shape.elements * size};  // packed
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

Reads::Reads(const Grid& grid, const std::vector<ExchangeItem>& items, const Bundles& bundles)
    : grid_(grid), items_(items) {
  for (const auto& [devices, b] : bundles.by_pair)
    for (const Leg& leg : b.legs) {
      if (leg.produced) continue;
      for (const Touched& t : touched(grid, items[static_cast<std::size_t>(leg.item)], leg, ItemEnd::source)) {
        InArray& reads = arrays_[t.array];
        reads.bytes = reads.sets.empty() ? t.bytes
                                         : Bytes{std::min(reads.bytes.first, t.bytes.first),
                                                 std::max(reads.bytes.behind, t.bytes.behind)};
        reads.sets.push_back(t);
      }
    }
  const bool listed = std::any_of(bundles.by_pair.begin(), bundles.by_pair.end(), [](const auto& entry) {
    return std::any_of(entry.second.legs.begin(), entry.second.legs.end(), [](const Leg& leg) {
      return leg.transfer->source.ids != nullptr || leg.transfer->target.ids != nullptr;
    });
  });
  if (!listed) return;
  for (auto& [array, reads] : arrays_) {
    reads.elements.resize(static_cast<std::size_t>(reads.sets.front().shape.elements));
    for (const Touched& t : reads.sets)
      any_element(t, [&](std::int64_t element) {
        reads.elements.at(static_cast<std::size_t>(element)) = true;
        return false;
      });
  }
}

bool Reads::touched_by(const Leg& leg) const {
  for (const Touched& t : touched(grid_, items_[static_cast<std::size_t>(leg.item)], leg, ItemEnd::target))
    for (const auto& [array, reads] : arrays_) {
      if (!reads.bytes.meet(t.bytes)) continue;
      const std::vector<Touched>& sets = reads.sets;
      if (!std::all_of(sets.begin(), sets.end(), [&](const Touched& read) { return read.alike(t); })) return true;
      if (!reads.elements.empty()) {
        if (any_element(t, [&](std::int64_t e) { return bool{reads.elements.at(static_cast<std::size_t>(e))}; }))
          return true;
        continue;
      }
      if (std::any_of(sets.begin(), sets.end(), [&](const Touched& read) {
            return share_components(*read.set, *t.set) && !intersection(read.set->box, t.set->box).empty();
          }))
        return true;
    }
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
  // What is combined is taken from everywhere before any of it is changed, always.
  if (std::any_of(items.begin(), items.end(), [](const auto& item) { return item.pattern->op() != Op::copy; }))
    return false;
  const Reads reads(grid, items, bundles);
  return std::any_of(bundles.by_pair.begin(), bundles.by_pair.end(), [&](const auto& entry) {
    return std::any_of(entry.second.legs.begin(), entry.second.legs.end(),
                       [&](const Leg& leg) { return reads.touched_by(leg); });
  });
}

}  // namespace slipstream

#include "exchange/combine.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <slipstream/error.hpp>

#include "device/upload.hpp"

namespace slipstream {
namespace {

std::int64_t source_block(const Contributor& c) { return c.arrived.leg->transfer->source_block; }
std::int64_t target_block(const Contributor& c) { return c.arrived.leg->transfer->target_block; }

Mover shared_mover(const Contributor& c) {
  Mover mover;
  mover.op = c.arrived.leg->transfer->op;
  mover.type = c.arrived.leg->type;
  mover.word = static_cast<int>(size_of(mover.type));
  mover.item = c.arrived.leg->item;
  mover.wire = c.arrived.leg->wire;
  if (c.arrived.leg->coded()) mover.recode = Recode::decode;
  return mover;
}

/// Index of a value in a packed message part, for a cell and component of the target's box.
std::int64_t packed_at(const Leg& leg, std::size_t component, const Extent& cell) {
  const Box& box = leg.transfer->target.box;
  const Extent e = in_order(leg, box.extents()),
               at = in_order(leg, {cell[0] - box.lo[0], cell[1] - box.lo[1], cell[2] - box.lo[2]});
  return ((static_cast<std::int64_t>(component) * e[2] + at[2]) * e[1] + at[1]) * e[0] + at[0];
}

}  // namespace

void Combiner::add(Mover mover, const Ordered& from, const std::vector<Contribution>& contributions,
                   std::vector<Combined>& out) {
  mover.contribution_count = static_cast<std::int32_t>(contributions.size());
  // Place of the target's own value: after contributions of source blocks whose id is lower than its own block's id.
  mover.own = static_cast<int>(std::count_if(from.begin(), from.end(),
                                             [](const Contributor* c) { return source_block(*c) < target_block(*c); }));
  gathered_.insert(gathered_.end(), contributions.begin(), contributions.end());
  std::set<std::size_t> messages;
  for (const Contributor* c : from) messages.insert(c->message);
  out.push_back({mover, {messages.begin(), messages.end()}});
}

std::vector<Combined> Combiner::movers(const std::vector<Contributor>& contributors) {
  std::vector<Combined> out, copies;
  // Received values to combine are grouped by target array, since several exchanged fields may have the same target.
  std::map<const std::byte*, Ordered> arrays;
  for (const Contributor& c : contributors) {
    const Leg& leg = *c.arrived.leg;
    if (leg.transfer->op != Op::copy) {
      arrays[c.target.origin].push_back(&c);
      continue;
    }
    const Slot slot{const_cast<std::byte*>(c.arrived.values) - leg.offset, {}};
    for (const Mover& mover : lists_.from_slot({leg}, {c.target}, slot)) copies.push_back({mover, {c.message}});
  }
  gathered_.clear();
  for (auto& [array, all] : arrays) {
    std::stable_sort(all.begin(), all.end(),
                     [](const Contributor* a, const Contributor* b) { return source_block(*a) < source_block(*b); });
    const auto* first = all.front()->arrived.leg->transfer;
    bool listed = false;
    for (const Contributor* c : all) {
      require(c->arrived.leg->transfer->op == first->op, ErrorCode::unsupported,
              "one array of a block is the target of different operations in one exchange: make two exchanges",
              {{"problem", "op"}});
      require(c->arrived.leg->wire == all.front()->arrived.leg->wire, ErrorCode::unsupported,
              "one array of a block is the target of different codings in one exchange: make two exchanges",
              {{"problem", "coding"}});
      listed |= c->arrived.leg->transfer->target.ids != nullptr;
    }
    listed ? lists(all, out) : boxes(all, out);
  }
  if (!gathered_.empty()) kept_.push_back(upload(device_, gathered_));
  std::size_t first = 0;
  for (Combined& combined : out) {
    combined.mover.contributions = kept_.back().data() + first;
    first += static_cast<std::size_t>(combined.mover.contribution_count);
  }
  out.insert(out.end(), copies.begin(), copies.end());
  return out;
}

/// Cuts the targets' boxes along all their faces. Each piece then has the same contributors throughout.
void Combiner::boxes(const Ordered& all, std::vector<Combined>& out) {
  std::set<std::int64_t> cuts[3];
  std::set<int> components;
  for (const Contributor* c : all) {
    const IndexSet& set = c->arrived.leg->transfer->target;
    for (int a = 0; a < 3; ++a) cuts[a].insert({set.box.lo[a], set.box.hi[a]});
    components.insert(set.components.begin(), set.components.end());
  }
  const auto piece = [&](const Box& box, int component) {
    Ordered here;
    std::vector<Contribution> contributions;
    for (const Contributor* c : all) {
      const Leg& leg = *c->arrived.leg;
      const IndexSet& set = leg.transfer->target;
      const auto found = std::find(set.components.begin(), set.components.end(), component);
      if (found == set.components.end() || intersection(set.box, box) != box) continue;
      here.push_back(c);
      const bool mixed = rows_hold_components(leg);
      const std::int64_t wide = mixed ? leg.components : 1;
      const std::int64_t at = mixed ? packed_at(leg, 0, box.lo) * wide + component
                                    : packed_at(leg, static_cast<std::size_t>(found - set.components.begin()), box.lo);
      Contribution from;
      from.base = c->arrived.values + at * static_cast<std::int64_t>(size_of(leg.wire, leg.type));
      const Extent e = in_order(leg, set.box.extents());
      const Extent stride = by_rows(leg.target_layout, in_order(leg, {wide, wide * e[0], wide * e[0] * e[1]}));
      std::copy(stride.begin(), stride.end(), from.stride);
      contributions.push_back(from);
    }
    if (here.empty()) return;
    Mover mover = shared_mover(*here.front());
    const Place& place = here.front()->target;
    const std::int64_t* const own = place.shape.stride;
    const Layout layout = here.front()->arrived.leg->target_layout;
    const Extent extent = by_rows(layout, box.extents()), stride = by_rows(layout, {own[0], own[1], own[2]});
    std::copy(extent.begin(), extent.end(), mover.extent);
    std::copy(stride.begin(), stride.end(), mover.target_stride);
    std::int64_t corner = component * place.shape.component_stride;
    for (int a = 0; a < 3; ++a) corner += box.lo[a] * own[a];
    mover.target = place.origin + corner * mover.word;
    mover.target_array = place.array;
    add(mover, here, contributions, out);
  };
  using std::next;
  for (const int component : components)
    for (auto z = cuts[2].begin(); next(z) != cuts[2].end(); ++z)
      for (auto y = cuts[1].begin(); next(y) != cuts[1].end(); ++y)
        for (auto x = cuts[0].begin(); next(x) != cuts[0].end(); ++x)
          piece({{*x, *y, *z}, {*next(x), *next(y), *next(z)}}, component);
}

/// Adds copies that combine values received for listed elements, one copy for all elements with the same transfers.
void Combiner::lists(const Ordered& all, std::vector<Combined>& out) {
  struct One {
    std::int64_t element, value;  // index of the element in its array, and of its value in the received list
    const Contributor* from;
  };
  std::vector<One> ones;
  for (const Contributor* c : all) {
    const auto& ids = c->arrived.leg->transfer->target.ids;
    require(ids != nullptr, ErrorCode::unsupported,
            "an array that is the target of lists of elements is the target of a box too", {{"problem", "lists"}});
    for (std::size_t n = 0; n < ids->size(); ++n) ones.push_back({(*ids)[n], static_cast<std::int64_t>(n), c});
  }
  std::stable_sort(ones.begin(), ones.end(), [](const One& a, const One& b) { return a.element < b.element; });
  struct Group {
    std::vector<std::int64_t> targets;
    std::vector<std::vector<std::int64_t>> sources;  // indices of the received values, one list per contributor
  };
  std::map<Ordered, Group> groups;
  for (auto one = ones.begin(); one != ones.end();) {
    const auto end = std::find_if(one, ones.end(), [&](const One& other) { return other.element != one->element; });
    Ordered here;
    for (auto n = one; n != end; ++n) here.push_back(n->from);
    Group& group = groups[here];
    group.targets.push_back(one->element);
    group.sources.resize(here.size());
    for (auto& sources : group.sources) sources.push_back(one++->value);
  }
  for (const auto& [from, group] : groups) {
    Mover mover = shared_mover(*from.front());
    mover.target = from.front()->target.origin;
    mover.target_array = from.front()->target.array;
    mover.extent[0] = static_cast<std::int64_t>(group.targets.size());
    mover.extent[1] = mover.extent[2] = 1;
    mover.target_ids = lists_.keep(group.targets);
    std::vector<Contribution> contributions;
    for (std::size_t i = 0; i < from.size(); ++i) {
      Contribution& contribution = contributions.emplace_back();
      contribution.base = from[i]->arrived.values;
      contribution.ids = lists_.keep(group.sources[i]);
    }
    add(mover, from, contributions, out);
  }
}

}  // namespace slipstream

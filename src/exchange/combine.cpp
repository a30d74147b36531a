#include "exchange/combine.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <slipstream/error.hpp>

#include "device/upload.hpp"

namespace slipstream {
namespace {

std::int64_t source_block(const Contributor& c) { return c.arrived.leg->transfer->source_block; }
std::int64_t target_block(const Contributor& c) { return c.arrived.leg->transfer->target_block; }

int place_of_own(const std::vector<const Contributor*>& ordered) {
  int own = 0;
  for (const Contributor* c : ordered) own += source_block(*c) < target_block(*c);
  return own;
}

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

/// Index in a packed leg of a cell and component of its target box.
std::int64_t packed_at(const Leg& leg, std::size_t component, const Extent& cell) {
  const Box& box = leg.transfer->target.box;
  const Extent e = in_order(leg, box.extents()),
               at = in_order(leg, {cell[0] - box.lo[0], cell[1] - box.lo[1], cell[2] - box.lo[2]});
  return ((static_cast<std::int64_t>(component) * e[2] + at[2]) * e[1] + at[1]) * e[0] + at[0];
}

}  // namespace

void Combiner::add(Mover mover, const std::vector<Contribution>& contributions, std::vector<Mover>& out) {
  mover.contribution_count = static_cast<std::int32_t>(contributions.size());
  gathered_.insert(gathered_.end(), contributions.begin(), contributions.end());
  out.push_back(mover);
}

std::vector<Mover> Combiner::movers(const std::vector<Contributor>& contributors) {
  std::vector<Mover> out, copies;
  // Grouped by array, since several items may have the same target array.
  std::map<const std::byte*, std::vector<const Contributor*>> arrays;
  for (const Contributor& c : contributors) {
    const Leg& leg = *c.arrived.leg;
    if (leg.transfer->op != Op::copy) {
      arrays[c.target.origin].push_back(&c);
      continue;
    }
    const auto some = lists_.from_slot({leg}, {c.target}, {const_cast<std::byte*>(c.arrived.values) - leg.offset, {}});
    copies.insert(copies.end(), some.begin(), some.end());
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
    if (listed) {
      lists(all, out);
    } else {
      boxes(all, out);
    }
  }
  if (!gathered_.empty()) kept_.push_back(upload(device_, gathered_));
  std::size_t first = 0;
  for (Mover& mover : out) {
    mover.contributions = kept_.back().data() + first;
    first += static_cast<std::size_t>(mover.contribution_count);
  }
  out.insert(out.end(), copies.begin(), copies.end());
  return out;
}

/// Cuts the targets' boxes along all their faces. Each piece then has the same contributors throughout.
void Combiner::boxes(const std::vector<const Contributor*>& all, std::vector<Mover>& out) {
  std::set<std::int64_t> cuts[3];
  std::set<int> components;
  for (const Contributor* c : all) {
    const IndexSet& set = c->arrived.leg->transfer->target;
    for (int a = 0; a < 3; ++a) cuts[a].insert({set.box.lo[a], set.box.hi[a]});
    components.insert(set.components.begin(), set.components.end());
  }
  const auto piece = [&](const Box& box, int component) {
    std::vector<const Contributor*> here;
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
    mover.own = place_of_own(here);
    add(mover, contributions, out);
  };
  const auto next = [](const std::set<std::int64_t>& set, std::set<std::int64_t>::const_iterator it) {
    return std::next(it) == set.end() ? *it : *std::next(it);
  };
  for (const int component : components)
    for (auto z = cuts[2].begin(); z != cuts[2].end(); ++z)
      for (auto y = cuts[1].begin(); y != cuts[1].end(); ++y)
        for (auto x = cuts[0].begin(); x != cuts[0].end(); ++x) {
          const Box box{{*x, *y, *z}, {next(cuts[0], x), next(cuts[1], y), next(cuts[2], z)}};
          if (!box.empty()) piece(box, component);
        }
}

/// Groups single values by target. Targets with equal numbers of contributors and equal positions of the own value form
/// one mover.
void Combiner::lists(const std::vector<const Contributor*>& all, std::vector<Mover>& out) {
  struct One {
    const Contributor* from;
    const std::byte* value;
  };
  std::map<std::int64_t, std::vector<One>> targets;  // by element; contributors in order
  for (const Contributor* c : all) {
    const Leg& leg = *c->arrived.leg;
    const IndexSet& set = leg.transfer->target;
    require(set.ids != nullptr, ErrorCode::unsupported,
            "an array that is the target of lists of elements is the target of a box too", {{"problem", "lists"}});
    const auto size = static_cast<std::int64_t>(size_of(leg.wire, leg.type));
    for (std::size_t n = 0; n < set.ids->size(); ++n)
      targets[(*set.ids)[n]].push_back({c, c->arrived.values + static_cast<std::int64_t>(n) * size});
  }
  struct Group {
    std::vector<std::int64_t> targets;
    std::vector<std::vector<std::int64_t>> sources;  // element indices, per contributor
  };
  std::map<std::pair<std::size_t, int>, Group> groups;
  const Leg& one = *all.front()->arrived.leg;
  const auto size = static_cast<std::int64_t>(size_of(one.wire, one.type));
  for (const auto& [element, ones] : targets) {
    std::vector<const Contributor*> here;
    for (const One& one : ones) here.push_back(one.from);
    Group& group = groups[{ones.size(), place_of_own(here)}];
    group.sources.resize(ones.size());
    group.targets.push_back(element);
    for (std::size_t i = 0; i < ones.size(); ++i)
      group.sources[i].push_back(reinterpret_cast<std::intptr_t>(ones[i].value) / size);
  }
  for (const auto& [key, group] : groups) {
    Mover mover = shared_mover(*all.front());
    mover.target = all.front()->target.origin;
    mover.target_array = all.front()->target.array;
    mover.extent[0] = static_cast<std::int64_t>(group.targets.size());
    mover.extent[1] = mover.extent[2] = 1;
    mover.target_ids = lists_.keep(group.targets);
    std::vector<Contribution> contributions(group.sources.size());
    for (std::size_t i = 0; i < contributions.size(); ++i) contributions[i].ids = lists_.keep(group.sources[i]);
    mover.own = key.second;
    add(mover, contributions, out);
  }
}

}  // namespace slipstream

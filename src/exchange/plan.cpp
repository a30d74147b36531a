#include "exchange/plan.hpp"

#include <algorithm>
#include <tuple>

#include <slipstream/error.hpp>
#include <slipstream/own_coding.hpp>

#include "exchange/transfer_checks.hpp"
#include "machine/hash.hpp"
#include "route/lower.hpp"
#include "route/route.hpp"

namespace slipstream {
std::string named(const FieldOptions& field) {
  return field.name.empty() ? "a field without a name" : "field " + field.name;
}

namespace {

/// Throws Error where an item cannot be moved as its pattern wants.
void check(const PlannedItem& item) {
  const FieldOptions &from = item.source, &to = item.to();
  const std::string what = "the pattern '" + item.pattern->name() + "' ";
  if (from.type != to.type)
    throw Error(ErrorCode::mismatch,
                what + "moves values of " + named(from) + " (" + to_string(from.type) + ") to " + named(to) + " (" +
                    to_string(to.type) + "): give both the same number format",
                {{"pattern", item.pattern->name()}, {"source", from.name}, {"target", to.name}, {"option", "type"}});
  wire_of(item.coding, from.type, named(from));
  if (item.produced && item.coding.kind != Coding::Kind::raw)
    throw Error(ErrorCode::unsupported,
                what + "is to have its values of " + named(from) +
                    " stored by the caller's kernels, which do not know the coding " + to_string(item.coding) +
                    ": choose the coding raw, or let the exchange pack",
                {{"pattern", item.pattern->name()}, {"field", from.name}, {"option", "coding"}});
  const Op op = item.pattern->op();
  if (op == Op::copy) return;
  if (from.type == DType::f16)
    throw Error(ErrorCode::unsupported,
                what + "combines values, and " + named(from) +
                    " holds f16, which is moved and not computed with: take a field of f32",
                {{"pattern", item.pattern->name()}, {"field", from.name}, {"type", to_string(from.type)}});
  if (is_complex(from.type) && op != Op::add && op != Op::multiply)
    throw Error(ErrorCode::unsupported,
                what + "takes the smallest or largest of complex numbers (" + named(from) + ", " +
                    to_string(from.type) + "), which have no order: choose add or multiply",
                {{"pattern", item.pattern->name()}, {"field", from.name}, {"type", to_string(from.type)}});
}

void add(Hash& hash, const FieldOptions& field) {
  hash.add(field.name);
  for (const auto value : {static_cast<std::int64_t>(field.type), static_cast<std::int64_t>(field.layout),
                           static_cast<std::int64_t>(field.components), static_cast<std::int64_t>(field.copies),
                           static_cast<std::int64_t>(field.alignment), static_cast<std::int64_t>(field.shared),
                           static_cast<std::int64_t>(field.adopted)})
    hash.add(static_cast<std::uint64_t>(value));
  hash.add(field.ghost);
  hash.add(field.padding);
  hash.add(static_cast<std::uint64_t>(field.apart));
  hash.add(std::uint64_t{field.packed != nullptr});
  if (field.packed)
    for (const std::int64_t values : *field.packed) hash.add(static_cast<std::uint64_t>(values));
}

void add(Hash& hash, const Grid& grid) {
  hash.add(grid.box());
  hash.add(static_cast<std::uint64_t>(grid.dimensions()));
  for (const bool periodic : grid.periodic()) hash.add(std::uint64_t{periodic});
  for (const Block& block : grid.blocks()) {
    hash.add(block.box);
    hash.add(static_cast<std::uint64_t>(block.device));
  }
}

}  // namespace

std::vector<PlannedItem> planned(const std::vector<ExchangeItem>& items) {
  std::vector<PlannedItem> result;
  for (const auto& item : items) {
    result.push_back({item.pattern, item.source->options(), {}, item.rebinds, item.coding, item.produced});
    if (item.target) result.back().target = item.target->options();
  }
  return result;
}

namespace {

/// A box that would take no fewer bytes in blocks travels as it is, unless others rely on how its values are rounded.
void choose_block(Leg& leg) {
  if (leg.wire.by_value()) return;
  const Extent cells = packed_extent(leg);
  const Transfer& t = *leg.transfer;
  const bool listed = t.source.ids || t.target.ids;
  leg.block = leg.wire.block_of(cells, listed, !listed && t.axes[row_axis(leg.layout)] != row_axis(leg.target_layout));
  if (leg.wire.rounds_by_value() || leg.wire.bytes_of(leg.type, cells, leg.block) < volume(cells) * size_of(leg.type))
    return;
  leg.wire = Wire::same;
  leg.block = {};
}

}  // namespace

Bundles bundle(const Grid& grid, const std::vector<PlannedItem>& items, int rank) {
  Bundles result;
  result.transfers.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const FieldOptions &field = items[i].source, &to_field = items[i].to();
    const Grid& to = items[i].pattern->target(grid);
    check(items[i]);
    const Wire wire = wire_of(items[i].coding, field.type, named(field));
    result.transfers[i] = items[i].pattern->transfers(grid, field.components, field.ghost, rank);
    const TransferChecks checks(grid, items[i]);
    for (const Transfer& t : result.transfers[i]) {
      checks.check(t);
      const Block &source = grid.block(t.source_block), &target = to.block(t.target_block);
      // A message of no values would be taken for an answer, which proves that a slot may be used again.
      if (t.source.size() == 0 || (source.rank != rank && target.rank != rank)) continue;
      const std::pair key{source.device, target.device};
      Bundle& b = result.by_pair[key];
      b.source = key.first;
      b.target = key.second;
      b.legs.push_back({&t, static_cast<int>(i), 0, field.type, field.layout, to_field.layout, field.components,
                        to_field.components, items[i].rebinds, wire, items[i].produced});
      choose_block(b.legs.back());
    }
  }
  for (auto& [devices, b] : result.by_pair) place_legs(b);
  return result;
}

void place_legs(Bundle& bundle) {
  bundle.bytes = bundle.raw_bytes = 0;
  for (Leg& leg : bundle.legs) {
    leg.offset = bundle.bytes;
    bundle.bytes += round_up(leg.bytes(), leg_alignment);
    bundle.raw_bytes += static_cast<std::size_t>(leg.transfer->source.size()) * size_of(leg.type);
  }
}

Pairs::Pairs(const Machine& machine, const std::vector<PlannedItem>& items, std::string gpu_mpi_refusal)
    : machine_(machine), shared_(machine.devices()) {
  common_.gpu_mpi = std::move(gpu_mpi_refusal);
  for (const auto& item : items) {
    const FieldOptions& target = item.to();
    fields_shared_ &= target.shared;
    fields_own_ &= target.shared || !target.adopted;
    common_.combines |= item.pattern->op() != Op::copy;
  }
  std::map<std::string, int> users;
  std::vector<int> devices(machine.ranks());
  for (int device = 0; device < machine.devices(); ++device) {
    ++users[machine.device(device).uuid];
    ++devices[machine.device(device).rank];
  }
  for (int device = 0; device < machine.devices(); ++device) {
    const std::string& uuid = machine.device(device).uuid;
    shared_[device] = !uuid.empty() && users[uuid] > 1;
    common_.exclusive &= !shared_[device];
  }
  for (const int count : devices) common_.one_each &= count == 1;
}

Pair Pairs::of(int source, int target) const {
  const MachineDevice &a = machine_.device(source), &b = machine_.device(target);
  Pair pair = common_;
  pair.same_process = a.rank == b.rank;
  pair.same_device = source == target;
  pair.same_node = a.node == b.node;
  pair.peer = machine_.link(source, target).peer || pair.same_device;
  pair.host = b.local.backend == Backend::host;
  pair.mappable = pair.host ? fields_shared_ || pair.same_process : fields_own_;
  const LinkKind link = machine_.link(source, target).kind;
  pair.whole_lines = pair.host || pair.same_device || link == LinkKind::same || link == LinkKind::nvlink;
  pair.unshared = !shared_[source] && !shared_[target];
  pair.takes_turns = (shared_[source] && a.takes_turns) || (shared_[target] && b.takes_turns);
  return pair;
}

std::string refusal(RouteKind kind, const Pair& pair, const ExchangeOptions& options) {
  const Route& way = route(kind);
  const std::string why = way.refusal(pair);
  if (!why.empty() || pair.same_device || !options.throttle.slows() || way.needs_host()) return why;
  return "the throttle slows messages that the host sends, and this route's are moved by devices and libraries";
}

Choice choose(const Pair& pair, int source, int target, const ExchangeOptions& options) {
  const auto& allowed = options.routes;
  std::string refused;
  const auto refuse = [&](const std::string& what, RouteKind kind, const std::string& why) {
    refused += (refused.empty() ? "" : "; ") + what + " " + to_string(kind) + ": " + why;
  };
  if (const auto given = options.chosen.find({source, target}); given != options.chosen.end()) {
    const std::string why = refusal(given->second, pair, options);
    const auto reason = options.reasons.find({source, target});
    if (why.empty()) return {given->second, reason == options.reasons.end() ? "chosen by measurement" : reason->second};
    refuse("chosen, but refused,", given->second, why);
  }
  // A kernel that waits keeps the other ranks from a GPU until its turn is over: such routes come last there.
  const bool turns = pair.takes_turns && !pair.same_device;
  for (const bool last : {false, true}) {
    if (last && !turns) break;
    for (const RouteKind kind : all_routes()) {
      const bool listed = std::find(allowed.begin(), allowed.end(), kind) != allowed.end();
      std::string why = listed ? refusal(kind, pair, options) : "turned off";
      if (why.empty() && turns && !last && !route(kind).needs_host())
        why = "it waits on a GPU that ranks take turns at";
      if (why.empty()) return {kind, refused.empty() ? "first in the rules" : refused};
      if (!last) refuse("not", kind, why);
    }
  }
  throw Error(ErrorCode::unavailable,
              "no allowed route joins two of the devices (" + refused + "): allow more routes, staged serves any pair",
              {{"problem", "no_route"}, {"refused", refused}});
}

std::uint64_t plan_hash(const Grid& grid, const std::vector<PlannedItem>& items, const ExchangeOptions& options) {
  Hash hash;
  add(hash, grid);
  for (const auto& item : items) {
    hash.add(item.pattern->name());
    hash.add(item.pattern->fingerprint());
    hash.add(static_cast<std::uint64_t>(item.pattern->op()));
    add(hash, item.source);
    hash.add(std::uint64_t{item.rebinds});
    hash.add(to_string(item.coding));
    // An unknown one is refused later.
    if (const int number = item.coding.kind == Coding::Kind::own ? own_coding_number(item.coding.name) : 0)
      hash.add(static_cast<std::uint64_t>(own_coding(number).code_bytes));
    hash.add(std::uint64_t{item.produced});
    if (!item.target) continue;
    add(hash, *item.target);
    add(hash, item.pattern->target(grid));
  }
  const Knobs& k = options.knobs;
  // All but `teams`: no message depends on the number of thread blocks.
  for (const auto value :
       {static_cast<std::int64_t>(k.pack), static_cast<std::int64_t>(k.streams), static_cast<std::int64_t>(k.grouping),
        static_cast<std::int64_t>(k.mpi), static_cast<std::int64_t>(k.sync), k.in_place, k.sealed, k.chunk, k.ring})
    hash.add(static_cast<std::uint64_t>(value));
  for (const auto& [pair, kind] : options.chosen)
    for (const int value : {pair.first, pair.second, static_cast<int>(kind)})
      hash.add(static_cast<std::uint64_t>(value));
  for (const RouteKind kind : options.routes) hash.add(static_cast<std::uint64_t>(kind));
  hash.add(to_string(options.throttle));
  hash.add(std::uint64_t{options.measure_errors});
  hash.add(std::uint64_t{options.poison});
  return hash.value();
}

std::uint64_t transfers_hash(const Bundle& bundle) {
  Hash hash;
  for (const Leg& leg : bundle.legs) {
    hash.add(static_cast<std::uint64_t>(leg.item));
    hash.add(static_cast<std::uint64_t>(leg.transfer->source_block));
    hash.add(static_cast<std::uint64_t>(leg.transfer->target_block));
    hash.add(static_cast<std::uint64_t>(leg.transfer->op));
    for (const int axis : leg.transfer->axes) hash.add(static_cast<std::uint64_t>(axis));
    for (const IndexSet* set : {&leg.transfer->source, &leg.transfer->target}) {
      hash.add(set->box);
      for (const int component : set->components) hash.add(static_cast<std::uint64_t>(component));
      if (set->ids)
        for (const std::int64_t id : *set->ids) hash.add(static_cast<std::uint64_t>(id));
    }
  }
  return hash.value();
}

namespace {

/// All that is true of a pair.
auto facts_of(const Pair& pair) {
  const auto& [same_device, same_process, same_node, peer, mappable, combines, host, unshared, takes_turns, whole_lines,
               exclusive, one_each, gpu_mpi] = pair;
  return std::tuple(same_device, same_process, same_node, peer, mappable, combines, host, unshared, takes_turns,
                    whole_lines, exclusive, one_each, gpu_mpi);
}

/// Of pairs of which the same is true the first alone is asked about: large plans have very many pairs.
class Choices {
 public:
  Choices(const Machine& machine, const std::vector<PlannedItem>& items, const ExchangeOptions& options)
      : pairs_(machine, items), options_(options) {}

  Choice of(int source, int target) {
    const Pair pair = pairs_.of(source, target);
    if (options_.chosen.contains({source, target})) return choose(pair, source, target, options_);
    const auto facts = facts_of(pair);
    auto known = known_.find(facts);
    if (known == known_.end()) known = known_.emplace(facts, choose(pair, source, target, options_)).first;
    return known->second;
  }

 private:
  Pairs pairs_;
  const ExchangeOptions& options_;
  std::map<decltype(facts_of(Pair{})), Choice> known_;
};

}  // namespace

std::vector<MessageInfo> plan_messages(const Grid& grid, const std::vector<PlannedItem>& items,
                                       const ExchangeOptions& options) {
  std::vector<MessageInfo> messages;
  Choices choices(grid.machine(), items, options);
  for (int rank = 0; rank < grid.machine().ranks(); ++rank) {
    const Bundles bundles = bundle(grid, items, rank);
    for (const auto& [key, b] : bundles.by_pair) {
      if (grid.machine().device(b.source).rank != rank) continue;
      Choice choice = choices.of(b.source, b.target);
      if (choice.route == RouteKind::gpu_mpi) choice.reason += "; believed only after a proof";
      const int from = grid.machine().device(b.source).node, to = grid.machine().device(b.target).node;
      if (choice.route == RouteKind::staged && options.knobs.grouping == Grouping::nodes && from != to)
        choice.reason += "; travels in the message of node " + std::to_string(from) + " to node " + std::to_string(to);
      messages.push_back({b.source, b.target, choice.route, choice.reason, static_cast<std::int64_t>(b.bytes),
                          static_cast<std::int64_t>(b.legs.size()), static_cast<std::int64_t>(b.raw_bytes)});
    }
  }
  return messages;
}

}  // namespace slipstream

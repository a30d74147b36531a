#include "exchange/plan.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include <slipstream/error.hpp>
#include <slipstream/own_coding.hpp>

#include "exchange/elements.hpp"
#include "exchange/transfer_checks.hpp"
#include "machine/hash.hpp"
#include "machine/timeout.hpp"
#include "mover/lower.hpp"
#include "mover/parts.hpp"

namespace slipstream {
std::string named(const FieldOptions& field) {
  return field.name.empty() ? "a field without a name" : "field " + field.name;
}

namespace {

/// Checks one transfer pattern and its fields. Throws Error if the pattern cannot move values between these fields.
void check(const PlannedItem& item) {
  const FieldOptions &from = item.source, &to = item.to();
  const std::string what = "the pattern '" + item.pattern->name() + "' ";
  require(from.type == to.type, ErrorCode::mismatch,
          what + "moves values of " + named(from) + " (" + to_string(from.type) + ") to " + named(to) + " (" +
              to_string(to.type) + "): give both the same number format",
          {{"pattern", item.pattern->name()}, {"source", from.name}, {"target", to.name}, {"option", "type"}});
  wire_of(item.coding, from.type, named(from));
  require(!item.produced || item.coding.kind == Coding::Kind::raw, ErrorCode::unsupported,
          what + "is to have its values of " + named(from) +
              " stored by the caller's kernels, which do not know the coding " + to_string(item.coding) +
              ": choose the coding raw, or let the exchange pack",
          {{"pattern", item.pattern->name()}, {"field", from.name}, {"option", "coding"}});
  const Op op = item.pattern->op();
  if (op == Op::copy) return;
  require(from.type != DType::f16, ErrorCode::unsupported,
          what + "combines values, and " + named(from) +
              " holds f16, which is moved and not computed with: take a field of f32",
          {{"pattern", item.pattern->name()}, {"field", from.name}, {"type", to_string(from.type)}});
  require(!is_complex(from.type) || op == Op::add || op == Op::multiply, ErrorCode::unsupported,
          what + "takes the smallest or largest of complex numbers (" + named(from) + ", " + to_string(from.type) +
              "), which have no order: choose add or multiply",
          {{"pattern", item.pattern->name()}, {"field", from.name}, {"type", to_string(from.type)}});
}

void add(Hash& hash, const FieldOptions& field) {
  hash.add(field.name, field.type, field.layout, field.components, field.copies, field.alignment, field.shared,
           field.adopted, field.ghost, field.padding, field.apart, field.packed != nullptr);
  if (field.packed) hash.add(*field.packed);
}

void add(Hash& hash, const Grid& grid) {
  hash.add(grid.box(), grid.dimensions(), grid.periodic());
  for (const Block& block : grid.blocks()) hash.add(block.box, block.device);
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

/// An index set in the form of a list: the offset of each of its values in the block's array.
IndexSet as_list(const IndexSet& set, const BlockShape& shape) {
  std::vector<std::int64_t> ids;
  any_element(set, shape, [&](std::int64_t element) {
    ids.push_back(element - shape.origin);
    return false;
  });
  return {{}, {}, std::make_shared<const std::vector<std::int64_t>>(std::move(ids))};
}

/// Selects the block size of a transfer's coding. If blocks would save no bytes, the box travels uncoded, unless
/// results depend on the rounding.
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
    result.transfers[i].shrink_to_fit();
    check_transfers(grid, items[i], result.transfers[i]);
    for (Transfer& t : result.transfers[i]) {
      const Block &source = grid.block(t.source_block), &target = to.block(t.target_block);
      // An empty message must not count as a reply, which proves that a slot is free again.
      if (t.source.size() == 0 || (source.rank != rank && target.rank != rank)) continue;
      // Cells that are coded together are neighbours in a box or in a list, and must be the same at both ends.
      if (!wire.by_value() && !t.source.ids != !t.target.ids) {
        if (!t.source.ids) t.source = as_list(t.source, block_shape(grid, t.source_block, field));
        if (!t.target.ids) t.target = as_list(t.target, block_shape(to, t.target_block, to_field));
      }
      const std::pair key{source.device, target.device};
      Bundle& b = result.by_pair[key];
      b.source = key.first;
      b.target = key.second;
      b.legs.push_back({&t, static_cast<int>(i), 0, field.type, field.layout, to_field.layout, field.components,
                        to_field.components, items[i].rebinds, wire, items[i].produced});
      choose_block(b.legs.back());
    }
  }
  for (auto& [devices, b] : result.by_pair) {
    b.legs.shrink_to_fit();
    place_legs(b);
  }
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
    : machine_(machine) {
  common_.gpu_mpi = std::move(gpu_mpi_refusal);
  common_.exclusive = !machine.any_shared();
  common_.one_each = machine.devices() == machine.ranks() && machine.most_devices_of_rank() == 1;
  for (const auto& item : items) {
    const FieldOptions& target = item.to();
    fields_shared_ &= target.shared;
    fields_own_ &= target.shared || !target.adopted;
    common_.combines |= item.pattern->op() != Op::copy;
  }
}

Pair Pairs::of(int source, int target) const {
  const MachineDevice &a = machine_.device(source), &b = machine_.device(target);
  Pair pair = common_;
  pair.same_process = a.rank == b.rank;
  pair.same_device = source == target;
  pair.same_node = a.node == b.node;
  const bool shared_source = machine_.shared(source), shared_target = machine_.shared(target);
  const Link& joined = machine_.link(source, target);
  pair.peer = joined.peer || pair.same_device;
  pair.host = b.local.backend == Backend::host;
  pair.mappable = pair.host ? fields_shared_ || pair.same_process : fields_own_;
  pair.whole_lines = pair.host || pair.same_device || joined.kind == LinkKind::same || joined.kind == LinkKind::nvlink;
  pair.unshared = !shared_source && !shared_target;
  pair.takes_turns = (shared_source && a.takes_turns) || (shared_target && b.takes_turns);
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
  // Ranks may share a GPU in turns. A kernel that waits there blocks the other ranks, so such routes are tried last.
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
    hash.add(item.pattern->name(), item.pattern->fingerprint(), item.pattern->op());
    add(hash, item.source);
    hash.add(item.rebinds, to_string(item.coding));
    // Unknown codings are rejected later.
    if (const int number = item.coding.kind == Coding::Kind::own ? own_coding_number(item.coding.name) : 0)
      hash.add(own_coding(number).code_bytes);
    hash.add(item.produced);
    if (!item.target) continue;
    add(hash, *item.target);
    add(hash, item.pattern->target(grid));
  }
  const Knobs& k = options.knobs;
  // The plan's hash has all tuning parameters except `teams`: messages do not depend on the number of thread blocks.
  hash.add(k.pack, k.streams, k.grouping, k.mpi, k.sync, k.in_place, k.packet_limit, k.chunk, k.ring);
  hash.add(options.routes, to_string(options.throttle), options.measure_errors, options.poison);
  return hash.value();
}

std::uint64_t transfers_hash(const Bundle& bundle) {
  Hash hash;
  for (const Leg& leg : bundle.legs) {
    const Transfer& t = *leg.transfer;
    hash.add(leg.item, t.source_block, t.target_block, t.op, t.axes);
    for (const IndexSet* set : {&t.source, &t.target}) {
      hash.add(set->box, set->components);
      if (set->ids) hash.add(*set->ids);
    }
  }
  return hash.value();
}

bool Channel::captured() const {
  return route(choice.route).capturable(pair) &&
         (!message.state || message.state->capturable(message.source, message.target));
}

Plan::Plan(const Grid& grid, std::vector<PlannedItem> wanted, ExchangeOptions chosen)
    : grid(grid),
      items(std::move(wanted)),
      options(std::move(chosen)),
      limit_ns(wait_limit_ns(options.wait_limit, "an exchange")) {
  require(!options.measure_errors || options.knobs.pack == Pack::fused, ErrorCode::unsupported,
          "errors of codings are measured of values that are packed in the launch of all messages, and pack = " +
              to_string(options.knobs.pack) + " packs them otherwise: choose pack = fused",
          {{"option", "pack"}, {"given", to_string(options.knobs.pack)}});
  const Coding* own = nullptr;
  for (const PlannedItem& item : items) {
    patterns.push_back(item.pattern->name());
    coded |= item.coding.kind != Coding::Kind::raw;
    produces |= item.produced;
    if (item.coding.kind == Coding::Kind::own) own = &item.coding;
  }
  // The kernels of one's own coding support no other coding except raw.
  if (own)
    for (const PlannedItem& item : items)
      require(item.coding.kind == Coding::Kind::raw || item.coding == *own, ErrorCode::unsupported,
              "an exchange has items of the codings " + to_string(*own) + " and " + to_string(item.coding) +
                  ": beside a coding of one's own stands raw alone; make two exchanges",
              {{"option", "coding"}, {"given", to_string(item.coding)}, {"other", to_string(*own)}});
  slipstream::check(options.throttle);
  hash = plan_hash(grid, items, options);
}

bool Plan::wants_gpu_mpi() const {
  const auto is = [](RouteKind kind) { return traits_of(kind).device_memory; };
  const bool allowed =
      std::any_of(options.routes.begin(), options.routes.end(), is) ||
      std::any_of(options.chosen.begin(), options.chosen.end(), [&](const auto& c) { return is(c.second); });
  if (!allowed) return false;
  const Pairs pairs(grid.machine(), items);
  return std::any_of(bundles.by_pair.begin(), bundles.by_pair.end(), [&](const auto& entry) {
    const Bundle& b = entry.second;
    return is(choose(pairs.of(b.source, b.target), b.source, b.target, options).route);
  });
}

void Plan::choose_routes(bool onto_itself, const std::string& gpu_mpi_refusal) {
  overlaps = onto_itself;
  require(!overlaps || options.knobs.pack == Pack::fused, ErrorCode::unsupported,
          "a field is moved onto itself, and all of its values must be taken before any of them is changed, in the "
          "launch of all messages; pack = " +
              to_string(options.knobs.pack) + " packs them otherwise: choose pack = fused",
          {{"option", "pack"}, {"given", to_string(options.knobs.pack)}});
  const Pairs pairs(grid.machine(), items, gpu_mpi_refusal);
  channels.reserve(bundles.by_pair.size());
  messages.reserve(bundles.by_pair.size());
  for (const auto& [key, b] : bundles.by_pair) {
    const Pair pair = pairs.of(b.source, b.target);
    Channel channel{&b, choose(pair, b.source, b.target, options), pair, Message{}, SlotNeed{}};
    channel.message = message_of(channel);
    const Route& way = route(channel.choice.route);
    messages.push_back({b.source, b.target, channel.choice.route, std::move(channel.choice.reason),
                        static_cast<std::int64_t>(b.bytes), static_cast<std::int64_t>(b.legs.size()),
                        static_cast<std::int64_t>(b.raw_bytes)});
    if (std::find(ways.begin(), ways.end(), &way) == ways.end()) ways.push_back(&way);
    host_driven |= way.needs_host();
    capturable &= way.capturable(pair);
    limited_in_graphs &= way.limited_in_graphs(pair);
    channels.push_back(std::move(channel));
  }
  prove_answers();
  for (Channel& channel : channels)
    channel.need = route(channel.choice.route).need(channel.message, channel.bundle->legs);
  std::stable_sort(channels.begin(), channels.end(), [](const Channel& a, const Channel& b) {
    // Sorts messages, farthest first: to other nodes, then to other devices; equally far ones by route, slowest first.
    return std::tuple(a.pair.same_node, a.pair.same_device, b.choice.route) <
           std::tuple(b.pair.same_node, b.pair.same_device, a.choice.route);
  });
  std::map<std::pair<int, int>, std::size_t> places;
  for (std::size_t c = 0; c < channels.size(); ++c)
    places[{channels[c].message.source, channels[c].message.target}] = c;
  channel_of_message.reserve(messages.size());
  for (const MessageInfo& m : messages) channel_of_message.push_back(places.at({m.source, m.target}));
}

Message Plan::message_of(const Channel& channel) const {
  const Bundle& b = *channel.bundle;
  const Machine& machine = grid.machine();
  // MPI tags of messages contain the devices' indices within their ranks.
  const auto place = [&](int device) { return device - machine.devices_of_rank(machine.device(device).rank).front(); };
  Message m;
  m.source = b.source;
  m.target = b.target;
  m.source_rank = machine.device(b.source).rank;
  m.target_rank = machine.device(b.target).rank;
  m.tag = place(b.source) * machine.most_devices_of_rank() + place(b.target);
  m.plan = hash;
  m.bytes = b.bytes;
  m.knobs = options.knobs;
  m.throttle = options.throttle;
  m.combines = channel.pair.combines;
  m.overlaps = overlaps;
  m.poison = options.poison;
  m.parts = route(channel.choice.route).parts(m, b.legs);
  if (m.parts) m.bytes = bytes_of_parts(*m.parts);
  const bool slowed = m.throttle.slows() && route(channel.choice.route).needs_host();
  require(!slowed || m.throttle.seconds(static_cast<double>(m.bytes)) < options.wait_limit, ErrorCode::unsupported,
          "a message of " + std::to_string(m.bytes) + " B takes " +
              std::to_string(m.throttle.seconds(static_cast<double>(m.bytes))) + " s by the throttle " +
              to_string(m.throttle) + ", and waits end after " + std::to_string(options.wait_limit) +
              " s: give a longer wait_limit or a faster throttle",
          {{"option", "wait_limit"},
           {"given", options.wait_limit},
           {"bytes", m.bytes},
           {"throttle", to_string(m.throttle)}});
  m.produced = std::any_of(b.legs.begin(), b.legs.end(), [](const Leg& leg) { return leg.produced; });
  m.host_shared = channel.pair.same_node;
  m.whole_lines = channel.pair.whole_lines;
  m.in_place_ok = channel.pair.same_device || channel.pair.mappable;
  return m;
}

/// A message is answered (symmetric pair) if its target sends back by a route that lets the source's device see the
/// arrival.
void Plan::prove_answers() {
  const auto proves = [](const Channel& c) {
    const RouteTraits traits = traits_of(c.choice.route);
    return traits.stores && (!traits.within_device || c.message.through_slots());
  };
  std::set<std::pair<int, int>> proving;  // (source, target) of messages whose arrival the target sees
  for (const Channel& channel : channels)
    if (proves(channel)) proving.emplace(channel.message.source, channel.message.target);
  for (Channel& channel : channels)
    channel.message.answered = proves(channel) && proving.contains({channel.message.target, channel.message.source});
}

void Plan::take(const RouteStates& states) {
  for (Channel& channel : channels) {
    if (const auto found = states.find(channel.choice.route); found != states.end())
      channel.message.state = found->second;
    capturable &= channel.captured();
    limited_in_graphs &= channel.captured();
  }
  for (MessageInfo& m : messages)
    if (const auto found = states.find(m.route); found != states.end())
      if (const std::string remark = found->second->remark(m.source, m.target); !remark.empty())
        m.reason += "; " + remark;
}

void Plan::unshare_hosts() {
  for (Channel& channel : channels) {
    if (channel.pair.same_process) continue;
    channel.message.host_shared = false;
    channel.need = route(channel.choice.route).need(channel.message, channel.bundle->legs);
  }
}

int Plan::tags() const {
  const int most = grid.machine().most_devices_of_rank();
  return most * most;
}

std::string Plan::why_not_captured() const {
  std::string why =
      "some message of another rank cannot be replayed by a graph, or all ranks tell each other of values that were "
      "too large for their coding or that a caller's kernel did not store (poison = true)";
  for (const Channel& c : channels)
    if (!c.captured())
      why = "its message from device " + std::to_string(c.message.source) + " to device " +
            std::to_string(c.message.target) + " travels by " + to_string(c.choice.route) +
            ", which a graph cannot replay here (slipstream info routes says why)";
  return "an exchange was begun on a stream that is being captured, but " + why +
         ": capture the work around the exchange, or allow routes that can be captured on all ranks (kernel, direct, "
         "peer, colocated)";
}

std::string Plan::field_names() const {
  std::string names;
  for (const auto& item : items) names += (names.empty() ? "" : ", ") + item.source.name;
  return names;
}

std::string Plan::name(std::uint64_t number) const {
  return "exchange " + std::to_string(number) + (items.empty() ? "" : " of ") + field_names();
}

Timeout Plan::too_late(std::uint64_t number, const std::string& who, const std::string& whom, double seconds,
                       Facts facts) const {
  facts.insert(facts.end(),
               {{"fields", field_names()}, {"rank", grid.rank()}, {"sequence", number}, {"limit", seconds}});
  if (!whom.empty()) facts.emplace_back("whom", whom);
  return Timeout(name(number) + ": " + who + " longer than " + std::to_string(seconds) + " s" +
                     (whom.empty() ? "" : " for " + whom) +
                     "; a rank that has stopped, or that calls its exchanges in another order, keeps others waiting",
                 std::move(facts));
}

namespace {

/// Messages that leave some ranks and, if asked, those that reach them from other ranks.
std::vector<MessageInfo> messages_of(const Grid& grid, const std::vector<PlannedItem>& items,
                                     const ExchangeOptions& options, const std::vector<int>& ranks, bool received) {
  const Machine& machine = grid.machine();
  const Pairs pairs(machine, items);
  std::map<Pair, Choice> known;  // routes by properties of two devices, such as same node; many pairs have equal ones
  std::vector<MessageInfo> messages;
  for (const int rank : ranks) {
    const Bundles bundles = bundle(grid, items, rank);
    for (const auto& [key, b] : bundles.by_pair) {
      if (machine.device(b.source).rank != rank && !received) continue;
      const Pair pair = pairs.of(b.source, b.target);
      const auto found = options.chosen.contains(key) ? known.end() : known.find(pair);
      Choice choice = found == known.end() ? choose(pair, b.source, b.target, options) : found->second;
      if (!options.chosen.contains(key)) known.emplace(pair, choice);
      const RouteTraits traits = traits_of(choice.route);
      if (traits.device_memory) choice.reason += "; believed only after a proof";
      const int from = machine.device(b.source).node, to = machine.device(b.target).node;
      if (traits.grouping && options.knobs.grouping == Grouping::nodes && from != to)
        choice.reason += "; travels in the message of node " + std::to_string(from) + " to node " + std::to_string(to);
      messages.push_back({b.source, b.target, choice.route, std::move(choice.reason),
                          static_cast<std::int64_t>(b.bytes), static_cast<std::int64_t>(b.legs.size()),
                          static_cast<std::int64_t>(b.raw_bytes)});
    }
  }
  return messages;
}

}  // namespace

std::vector<MessageInfo> plan_messages(const Grid& grid, const std::vector<PlannedItem>& items,
                                       const ExchangeOptions& options) {
  std::vector<int> ranks(static_cast<std::size_t>(grid.machine().ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return messages_of(grid, items, options, ranks, false);
}

std::vector<MessageInfo> plan_own_messages(const Grid& grid, const std::vector<PlannedItem>& items,
                                           const ExchangeOptions& options) {
  return messages_of(grid, items, options, {grid.rank()}, true);
}

}  // namespace slipstream

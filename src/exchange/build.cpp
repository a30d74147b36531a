#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <slipstream/error.hpp>

#include "device/wait_quietly.hpp"
#include "exchange/impl.hpp"
#include "exchange/same_on_ranks.hpp"
#include "exchange/transfer_checks.hpp"
#include "machine/agree.hpp"
#include "machine/gpu_mpi.hpp"
#include "machine/patience.hpp"
#include "machine/same_ranks.hpp"
#include "route/parts.hpp"

namespace slipstream {
Exchange::Impl::Impl(const Communicator& world, const Grid& grid, std::vector<ExchangeItem> wanted,
                     ExchangeOptions chosen)
    : comm(world), grid(grid), items(std::move(wanted)), options(std::move(chosen)) {
  try {
    make();
  } catch (...) {
    unwind(true);
    throw;
  }
}

/// Steps in which a rank may fail alone lie between those that ranks do together: all agree on a failure before anybody
/// goes on, and all unwind.
void Exchange::Impl::make() {
  const std::string what = "an exchange could not be made";
  // First of all, whatever the others are about to make: one that fails here says so in the same words.
  std::string words;
  const Problem unplanned = failure_of([&] {
    check_items();
    slipstream::check(options.throttle);
    planned = slipstream::planned(items);
    for (const ExchangeItem& item : items) pattern_names.push_back(item.pattern->name());
    produces = std::any_of(items.begin(), items.end(), [](const ExchangeItem& item) { return item.produced; });
    words = described(grid, planned);
    hash = plan_hash(grid, planned, options);
  });
  require_same(comm, hash, words, "exchanges", unplanned);
  own = std::make_unique<Parting>(comm, "an exchange");
  coded = std::any_of(items.begin(), items.end(),
                      [](const ExchangeItem& item) { return item.coding.kind != Coding::Kind::raw; });
  looks = options.poison && produces;
  if (coded || looks)
    agreement = std::make_unique<Parting>(comm, "what ranks tell each other of values that did not get through");
  bool asks = false;
  on_all_ranks(comm, what, [&] {
    make_sides();
    bundles = bundle(grid, planned, grid.rank());
    check_writers(grid, items, bundles);
    leave_what_rests(grid, items, bundles);
    asks = wants_gpu_mpi();
    overlaps = moved_onto_itself(grid, items, bundles);
  });
  overlaps = !comm.all(!overlaps);
  if (overlaps && options.knobs.pack != Pack::fused)
    throw Error(
        ErrorCode::unsupported,
        "a field is moved onto itself, and all of its values must be taken before any of them is changed, in the "
        "launch of all messages; pack = " +
            to_string(options.knobs.pack) + " packs them otherwise: choose pack = fused",
        {{"option", "pack"}, {"given", to_string(options.knobs.pack)}});
  const std::string refused = comm.all(!asks) ? std::string() : gpu_mpi_refusal();
  on_all_ranks(comm, what, [&] { make_channels(refused); });
  prepare_routes();
  on_all_ranks(comm, what, [&] {
    set_watchdog();
    count_combinations();
    note_generations();
    make_landing_places();
    make_host_landings();
    publish_fields();
  });
  directory.exchange(*own, patience());
  prove_host_landings();
  // It ends together, too: nobody stores before everybody's signals are zero.
  on_all_ranks(comm, what, [&] {
    find_words_of_writers();
    make_ends();
    make_programs();
  });
}

/// Kernels that know a coding of the caller's own know no other.
void Exchange::Impl::check_own_codings() const {
  const Coding* own = nullptr;
  for (const auto& item : items)
    if (item.coding.kind == Coding::Kind::own) own = &item.coding;
  if (!own) return;
  for (const auto& item : items)
    require(item.coding.kind == Coding::Kind::raw || item.coding == *own, ErrorCode::unsupported,
            "an exchange has items of the codings " + to_string(*own) + " and " + to_string(item.coding) +
                ": beside a coding of one's own stands raw alone; make two exchanges",
            {{"option", "coding"}, {"given", to_string(item.coding)}, {"other", to_string(*own)}});
}

/// The engine would read and write beyond the blocks of fields that lie on other grids than those it plans with.
void Exchange::Impl::check_items() const {
  const auto same = [](const Grid& a, const Grid& b) {
    if (&a == &b) return true;
    return a.extent() == b.extent() &&
           std::equal(a.blocks().begin(), a.blocks().end(), b.blocks().begin(), b.blocks().end(),
                      [](const Block& x, const Block& y) { return x.box == y.box && x.device == y.device; });
  };
  require_ranks_of(comm, grid.machine(), grid.rank(), "an exchange");
  wait_limit_ns(options.wait_limit, "an exchange");
  if (options.measure_errors && options.knobs.pack != Pack::fused)
    throw Error(ErrorCode::unsupported,
                "errors of codings are measured of values that are packed in the launch of all messages, and pack = " +
                    to_string(options.knobs.pack) + " packs them otherwise: choose pack = fused",
                {{"option", "pack"}, {"given", to_string(options.knobs.pack)}});
  check_own_codings();
  for (const auto& item : items) {
    if (!(item.pattern && item.source))
      throw Error(ErrorCode::invalid_argument, "an item of an exchange has no pattern or no field",
                  {{"option", "items"}});
    if (!same(item.source->grid(), grid))
      throw Error(ErrorCode::mismatch,
                  "field " + item.source->options().name + " does not lie on the grid of its exchange",
                  {{"field", item.source->options().name}});
    if (!same(item.to().grid(), item.pattern->target(grid)))
      throw Error(ErrorCode::mismatch,
                  "field " + item.to().options().name + " does not lie on the blocks that the pattern '" +
                      item.pattern->name() + "' brings values to",
                  {{"field", item.to().options().name}, {"pattern", item.pattern->name()}});
  }
}

void Exchange::Impl::make_sides() {
  for (const int index : grid.machine().devices_of_rank(grid.rank())) {
    const Device device = grid.machine().device(index).local;
    sides.push_back(std::make_unique<Side>(index, device, comm.arena(device)));
    calls.add(device);
  }
}

Exchange::Impl::~Impl() { unwind(false); }

/// What was mapped goes before its owners free it, and they free it when all have let go. `failed`: it was never made.
void Exchange::Impl::unwind(bool failed) noexcept {
  // Its spans of the arena are another's soon: a graph that holds it would store there, and at its neighbours.
  calls.close();
  await_or_abandon();
  // All of the device: run() and graphs that replay work on the callers' streams.
  for (auto& side : sides) wait_quietly(side->device);
  // Senders may still be copying into memory that is about to be unmapped.
  if (host_driven)
    for (auto& side : sides) {
      side->senders.clear();
      side->receivers.clear();
    }
  for (const auto& [kind, state] : states) state->part();
  if (open || opened || late()) revoke();
  directory.release();
  // Memory that neighbours map outlives their last store.
  if (own && !part(Parting::patience(options.wait_limit, failed || late()))) keep_memory();
}

/// Tags tell a rank's devices apart by their place among its own.
int Exchange::Impl::place_in_rank(int device) const {
  return device - grid.machine().devices_of_rank(grid.machine().device(device).rank).front();
}

void Exchange::Impl::make_message(Channel& channel, int most_devices) {
  const Bundle& b = *channel.bundle;
  Message& m = channel.message;
  m.source = b.source;
  m.target = b.target;
  m.source_rank = grid.machine().device(b.source).rank;
  m.target_rank = grid.machine().device(b.target).rank;
  m.tag = place_in_rank(b.source) * most_devices + place_in_rank(b.target);
  m.plan = hash;
  m.bytes = b.bytes;
  m.comm = own->mpi();
  m.knobs = options.knobs;
  m.throttle = options.throttle;
  m.combines = channel.pair.combines;
  m.overlaps = overlaps;
  m.poison = options.poison;
  m.parts = route(channel.choice.route).parts(m, b.legs);
  if (m.parts) m.bytes = bytes_of_parts(*m.parts);
  const bool slowed = m.throttle.slows() && route(channel.choice.route).needs_host();
  if (slowed && !(m.throttle.seconds(static_cast<double>(m.bytes)) < options.wait_limit))
    throw Error(ErrorCode::unsupported,
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
}

/// A message is answered where its target sends back by a way whose arrival the source's device waits for.
void Exchange::Impl::prove_answers() {
  const auto proves = [](const Channel& c) {
    const RouteTraits traits = traits_of(c.choice.route);
    return traits.stores && (!traits.within_device || c.message.through_slots());
  };
  std::set<std::pair<int, int>> proving;  // the devices of messages that do
  for (const Channel& channel : channels)
    if (proves(channel)) proving.emplace(channel.message.source, channel.message.target);
  for (Channel& channel : channels)
    channel.message.answered = proves(channel) && proving.contains({channel.message.target, channel.message.source});
}

/// Whether a message of this rank would be given to MPI in device memory.
bool Exchange::Impl::wants_gpu_mpi() const {
  const auto is = [](RouteKind kind) { return traits_of(kind).device_memory; };
  const bool allowed =
      std::any_of(options.routes.begin(), options.routes.end(), is) ||
      std::any_of(options.chosen.begin(), options.chosen.end(), [&](const auto& c) { return is(c.second); });
  if (!allowed) return false;
  const Pairs pairs(grid.machine(), planned);
  return std::any_of(bundles.by_pair.begin(), bundles.by_pair.end(), [&](const auto& entry) {
    const Bundle& b = entry.second;
    return is(choose(pairs.of(b.source, b.target), b.source, b.target, options).route);
  });
}

/// Asked with messages, by all ranks.
std::string Exchange::Impl::gpu_mpi_refusal() const {
  std::vector<Device> devices;
  for (const auto& side : sides) devices.push_back(side->device);
  return prove_gpu_mpi(comm, devices);
}

void Exchange::Impl::make_channels(const std::string& gpu_mpi_refusal) {
  const Machine& machine = grid.machine();
  const int most = machine.most_devices_of_rank();
  const Pairs pairs(machine, planned, gpu_mpi_refusal);
  for (const auto& [key, b] : bundles.by_pair) {
    const Pair pair = pairs.of(b.source, b.target);
    Channel channel{&b, choose(pair, b.source, b.target, options), pair, Message{}, SlotNeed{}};
    make_message(channel, most);
    // Both ways: the source stores values, the target's kernels store counters.
    const MachineDevice &from = machine.device(b.source), &to = machine.device(b.target);
    if (pair.same_process && !pair.same_device && from.rank == grid.rank()) {
      peer_access(from.local, to.local);
      peer_access(to.local, from.local);
    }
    const Route& way = route(channel.choice.route);
    messages.push_back({b.source, b.target, channel.choice.route, channel.choice.reason,
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
    // Farthest first: other nodes, then other devices, then by the slowest route.
    return std::tuple(a.pair.same_node, a.pair.same_device, b.choice.route) <
           std::tuple(b.pair.same_node, b.pair.same_device, a.choice.route);
  });
  std::map<std::pair<int, int>, std::size_t> places;
  for (std::size_t c = 0; c < channels.size(); ++c)
    places[{channels[c].message.source, channels[c].message.target}] = c;
  for (const MessageInfo& m : messages) channel_of_message.push_back(places.at({m.source, m.target}));
}

}  // namespace slipstream

#include <algorithm>

#include <slipstream/error.hpp>

#include "device/wait_quietly.hpp"
#include "exchange/impl.hpp"
#include "exchange/overlaps.hpp"
#include "exchange/same_on_ranks.hpp"
#include "exchange/transfer_checks.hpp"
#include "machine/gpu_mpi.hpp"
#include "machine/same_ranks.hpp"

namespace slipstream {
namespace {

/// Checks that all fields are on the expected grids. Kernels would otherwise access memory outside their blocks.
void check_items(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items) {
  const auto same = [](const Grid& a, const Grid& b) {
    if (&a == &b) return true;
    return a.extent() == b.extent() &&
           std::equal(a.blocks().begin(), a.blocks().end(), b.blocks().begin(), b.blocks().end(),
                      [](const Block& x, const Block& y) { return x.box == y.box && x.device == y.device; });
  };
  require_ranks_of(comm, grid.machine(), grid.rank(), "an exchange");
  for (const auto& item : items) {
    require(item.pattern && item.source, ErrorCode::invalid_argument,
            "an item of an exchange has no pattern or no field", {{"option", "items"}});
    require(same(item.source->grid(), grid), ErrorCode::mismatch,
            "field " + item.source->options().name + " does not lie on the grid of its exchange",
            {{"field", item.source->options().name}});
    require(same(item.to().grid(), item.pattern->target(grid)), ErrorCode::mismatch,
            "field " + item.to().options().name + " does not lie on the blocks that the pattern '" +
                item.pattern->name() + "' brings values to",
            {{"field", item.to().options().name}, {"pattern", item.pattern->name()}});
  }
}

/// Tests MPI with messages of device memory. Returns why MPI cannot take it; empty if it can. Collective.
std::string gpu_mpi_refusal(const Communicator& comm, const Grid& grid) {
  std::vector<Device> devices;
  for (const int index : grid.machine().devices_of_rank(grid.rank()))
    devices.push_back(grid.machine().device(index).local);
  return prove_gpu_mpi(comm, devices);
}

}  // namespace

Exchange::Impl::Impl(const Communicator& world, const Grid& grid, std::vector<ExchangeItem> items,
                     ExchangeOptions options)
    : comm(sharing(world)), grid(grid) {
  try {
    make(std::move(items), std::move(options));
  } catch (...) {
    unwind(true);
    throw;
  }
}

/// Set-up: local steps, which may fail on one rank, alternate with collective ones. All ranks agree on a failure before
/// they continue, and then all unwind.
void Exchange::Impl::make(std::vector<ExchangeItem> items, ExchangeOptions options) {
  const std::string what = "an exchange could not be made";
  // Ranks compare their exchanges first. A rank with a failed check takes part and reports it, so no rank waits.
  std::string words;
  const Problem unplanned = failure_of([&] {
    check_items(comm, grid, items);
    plan.emplace(grid, planned(items), std::move(options));
    words = described(grid, plan->items);
  });
  require_same(comm, plan ? plan->hash : 0, words, "exchanges", unplanned);
  waits.emplace(comm, *plan);
  agreement.emplace(comm, *plan, *waits, [this] { return unwritten_here(); });
  bool asks = false, onto_itself = false;
  on_all_ranks(comm, what, [&] {
    plan->list_transfers();
    check_writers(grid, items, plan->bundles);
    leave_what_rests(grid, items, plan->bundles);
    asks = plan->wants_gpu_mpi();
    onto_itself = moved_onto_itself(grid, items, plan->bundles);
  });
  onto_itself = !comm.all(!onto_itself);
  const std::string refused = comm.all(!asks) ? std::string() : gpu_mpi_refusal(comm, grid);
  on_all_ranks(comm, what, [&] {
    plan->choose_routes(onto_itself, refused);
    const int tag = agreement->own().take_tags(plan->tags());
    for (Channel& channel : plan->channels) {
      channel.message.comm = agreement->own().mpi();
      channel.message.tag += tag;
    }
    memory.emplace(*plan, comm);
    for (const auto& mine : memory->devices) calls.add(mine->device);
  });
  agreement->compare_messages();
  agreement->prepare_routes(states);
  plan->take(states);
  loopable = agreement->settle_captures(*plan);
  on_all_ranks(comm, what, [&] {
    arrays.emplace(*plan, std::move(items), *memory);
    memory->make();
    for (const auto& mine : memory->devices) waits->add(mine->index, mine->failure.data());
    waits->guard(states);
    arrays->publish();
  });
  memory->directory.exchange(agreement->own(), agreement->timeout());
  if (comm.size() > 1 && !comm.all(memory->maps_hosts())) plan->unshare_hosts();
  // Making launches is the last step, and collective too: all signals must be zero before any rank stores.
  on_all_ranks(comm, what, [&] {
    memory->find_words_of_writers();
    make_launches();
  });
}

void Exchange::Impl::make_launches() {
  for (const auto& mine : memory->devices)
    launches.push_back(std::make_unique<Launches>(*plan, *memory, *arrays, *mine));
  const auto of = [&](int device) -> Launches& {
    return *launches[static_cast<std::size_t>(device - memory->devices.front()->index)];
  };
  for (std::size_t c = 0; c < plan->channels.size(); ++c) {
    const Message& m = plan->channels[c].message;
    if (plan->local(m.source)) of(m.source).add_sender(c);
    if (plan->local(m.target)) of(m.target).add_receiver(c);
  }
  std::optional<Reads> reads;
  if (plan->options.poison) reads.emplace(grid, arrays->items, plan->bundles);
  for (const auto& each : launches) {
    each->make_programs(reads);
    transfers |= each->transfers() || each->delivers();
  }
}

/// Whether the work of begin, end and run has finished; also true if a device failed. Replays of a caller's graph are
/// not counted.
bool Exchange::Impl::over() const noexcept {
  try {
    return calls.over() && (!memory || std::all_of(memory->devices.begin(), memory->devices.end(),
                                                   [](const auto& mine) { return mine->stream.idle(); }));
  } catch (...) {
    return true;
  }
}

/// Each rank unmaps foreign memory before the owners free it. Owners wait until all ranks have unmapped. `failed`:
/// set-up did not complete.
void Exchange::Impl::unwind(bool failed) noexcept {
  // The arena will reuse this memory, so a graph that contains the exchange must not be replayed.
  calls.close();
  if (waits) waits->finish(sequence, [this] { return over(); });
  if (memory) {
    // Waits for whole devices: run() and replayed graphs work on the callers' streams.
    for (const auto& mine : memory->devices) wait_quietly(mine->device);
    // Senders may still copy into memory that is about to be unmapped.
    if (plan->host_driven)
      for (const auto& each : launches) each->drop_ends();
  }
  for (const auto& [kind, state] : states) state->leave();
  if (memory) {
    if (open || opened || waits->late()) memory->revoke();
    memory->directory.release();
  }
  if (!agreement || agreement->leave(PrivateCommunicator::timeout(plan->options.wait_limit, failed || waits->late())))
    return;
  // Keeps buffers and arrays allocated: ranks that did not end the exchange with the others may still store there.
  if (arrays) arrays->keep();
  if (memory) memory->keep();
  for (const auto& [kind, state] : states) state->keep_memory();
}

}  // namespace slipstream

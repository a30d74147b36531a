#include "gather_scatter/host_packed.hpp"

#include <slipstream/error.hpp>

#include "machine/agree.hpp"
#include "machine/records.hpp"

namespace slipstream {
namespace {

Machine host_of(const Communicator& comm, std::size_t devices) {
  Machine::Options options;
  options.devices_per_rank = static_cast<int>(devices);
  options.ranks_per_node = 1;
  options.bind = false;
  return Machine::discover(comm, options);
}

GatherScatterOptions options_on_host(const GatherScatterOptions& asked) {
  GatherScatterOptions options = asked;
  options.host_packed = false;
  options.exchange.routes = {RouteKind::staged};
  options.exchange.chosen.clear();
  options.exchange.reasons.clear();
  // MPI can read the values in place, since they are in host memory already.
  if (options.exchange.knobs.pack == Knobs{}.pack) options.exchange.knobs.pack = Pack::zero_copy;
  return options;
}

/// Number of a device's first block of points, and how many partial results the device copies to the host.
struct Share {
  std::int64_t first_block = 0, count = 0;
};

}  // namespace

HostPacked::Here::Here(const Arena& arena, const Lists<std::uint32_t>& copies, std::size_t bytes)
    : there(arena.take<std::byte>(bytes)),
      here(arena.take<std::byte>(bytes, Memory::pinned)),
      left(arena.device()),
      back(arena.device()) {
  Stream stream(arena.device());
  list.rows = uploaded(stream, copies);
}

HostPacked::HostPacked(const Communicator& comm, const Machine& machine, const std::vector<Copies>& copies,
                       const GatherScatterOptions& options)
    : type_(options.type), components_(options.components) {
  const Machine host = host_of(comm, copies.size());
  on_all_ranks(comm, "a gather-scatter could not be made", [&] {
    for (const Copies& c : copies)
      devices_.emplace_back(
          comm.arena(machine.device(c.device).local), c.partials->copies,
          c.partials->ids.size() * static_cast<std::size_t>(options.components) * size_of(options.type));
    for (const int device : host.devices_of_rank(comm.rank())) streams_.emplace_back(host.device(device).local);
  });
  // On the host each device's value counts as one block. Values are numbered in the order of devices' first blocks.
  std::vector<Share> mine;
  for (const Copies& c : copies)
    mine.push_back({c.partials->first_block, static_cast<std::int64_t>(c.partials->ids.size())});
  const std::vector<Share> all = by_device(comm, machine, mine);
  std::vector<SharedPoints> points;
  for (std::size_t d = 0; d < copies.size(); ++d) {
    std::int64_t before = 0;
    for (const Share& other : all)
      if (other.first_block < mine[d].first_block) before += other.count;
    points.push_back({copies[d].partials->ids, before, 1});
  }
  host_ = std::make_unique<GatherScatter>(comm, host, points, options_on_host(options));
}

/// Waits for the streams, because queued work uses memory that returns to the arenas.
HostPacked::~HostPacked() {
  for (const Here& here : devices_) {
    try {
      here.left.synchronize();
      here.back.synchronize();
    } catch (...) {
      // A destructor cannot report errors. The same error was thrown where the stream was used.
    }
  }
}

Operands HostPacked::operands(const Here& here, const Values& points, Op op) const {
  return {points, {}, {here.there.data(), here.list.rows.count}, type_, components_, op};
}

void HostPacked::pack(std::size_t device, Stream& stream, const Values& values, Op op) {
  Here& here = devices_[device];
  if (here.list.rows.count == 0) return;
  stream.wait(here.back);
  const Operands with = operands(here, values, op);
  combine_to(stream, here.list, with, with.mailbox);
  copy(stream, here.here.data(), here.there.data(), here.there.bytes());
  stream.record(here.left);
}

void HostPacked::finish(std::vector<Stream>& streams, const std::vector<Values>& values, Op op) {
  std::vector<GatherScatter::Array> arrays;
  for (Here& here : devices_) {
    here.left.synchronize();
    arrays.push_back({here.here.data(), here.list.rows.count});
  }
  host_->run(streams_, arrays, op);
  for (Stream& stream : streams_) stream.synchronize();
  host_->check();
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    Here& here = devices_[d];
    if (here.list.rows.count == 0) continue;
    copy(streams[d], here.there.data(), here.here.data(), here.there.bytes());
    const Operands with = operands(here, values[d], op);
    spread(streams[d], here.list, with, with.mailbox);
    streams[d].record(here.back);
  }
}

}  // namespace slipstream

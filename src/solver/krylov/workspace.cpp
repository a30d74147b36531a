#include "solver/krylov/workspace.hpp"

#include <algorithm>

#include <slipstream/trace.hpp>

#include "machine/sum.hpp"

namespace slipstream::krylov {
namespace {

/// Pinned memory for sums of two iterations and for those of read().
constexpr std::size_t slots = 3, read_slot = 2;

Device first_of(const Communicator& comm, const Machine& machine) {
  return machine.device(machine.devices_of_rank(comm.rank()).front()).local;
}

}  // namespace

std::vector<std::vector<std::int64_t>> blocks_of(const Layout& layout) {
  std::vector<std::vector<std::int64_t>> all;
  for (std::size_t d = 0; d < layout.points.size(); ++d) {
    std::vector<std::int64_t>& mine = all.emplace_back();
    for (std::int64_t n = 0; n < Range{layout.points[d], layout.block}.blocks(); ++n)
      mine.push_back(layout.first_block[d] + n);
  }
  return all;
}

Workspace::Workspace(const Communicator& c, const Machine& machine, Layout l)
    : comm(c),
      layout(std::move(l)),
      one(comm, machine, blocks_of(layout), 1),
      two(comm, machine, blocks_of(layout), 2),
      looks_(first_of(comm, machine), Priority::high),
      ready_(looks_.device()),
      seen_{Event(looks_.device()), Event(looks_.device())} {
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const Device device = machine.device(devices[d]).local;
    const Range range{layout.points[d], layout.block};
    const auto points = static_cast<std::size_t>(range.points), blocks = static_cast<std::size_t>(range.blocks());
    const bool given = !layout.directions.empty();
    sides.push_back({range,
                     given ? layout.directions[d] : nullptr,
                     Buffer<double>(device, points),
                     Buffer<double>(device, points),
                     Buffer<double>(device, 2 * blocks + 1),
                     Buffer<double>(device, places),
                     Buffer<double>(device, slots * places, Memory::pinned),
                     Buffer<double>(device, given ? 0 : points),
                     {},
                     {},
                     {}});
    Side& side = sides.back();
    if (!given) side.p = side.own_p.data();
    Stream stream(device);
    fill(stream, side.sums.data(), 0, side.sums.bytes());
    if (given && points > 0) fill(stream, side.q.data(), 0, side.q.bytes());
    stream.synchronize();
  }
}

void Workspace::add_up(std::vector<Stream>& streams, BlockSums& sums, std::size_t place) {
  if (on_host) return add_up_on_host(streams, &sums == &two ? 2 : 1, place);
  std::vector<const double*> parts;
  std::vector<double*> results;
  for (Side& side : sides) {
    parts.push_back(side.parts.data());
    results.push_back(side.sums.data() + place);
  }
  const DeviceSpans spans(trace, streams, "solver", "sum", "reduction");
  sums.run(streams, parts, results);
}

void Workspace::add_up_on_host(std::vector<Stream>& streams, std::size_t count, std::size_t place) {
  const HostSpan span(trace, "sum on the host", "wait");
  for (std::size_t d = 0; d < sides.size(); ++d) {
    Side& side = sides[d];
    if (side.host_parts.size() == 0)
      side.host_parts = Buffer<double>(side.parts.device(), side.parts.size(), Memory::pinned);
    copy(streams[d], side.host_parts.data(), side.parts.data(), side.parts.bytes());
  }
  double sum[2] = {0, 0};
  for (std::size_t d = 0; d < sides.size(); ++d) {
    streams[d].synchronize();
    const auto blocks = static_cast<std::size_t>(sides[d].range.blocks());
    for (std::size_t s = 0; s < count; ++s)
      for (std::size_t n = 0; n < blocks; ++n) sum[s] += sides[d].host_parts.data()[s * blocks + n];
  }
  sum_over_ranks(comm, {sum, count});
  for (std::size_t d = 0; d < sides.size(); ++d) {
    std::copy_n(sum, count, sides[d].host_parts.data());
    copy(streams[d], sides[d].sums.data() + place, sides[d].host_parts.data(), count * sizeof(double));
  }
}

Sums Workspace::read(std::vector<Stream>& streams) {
  const HostSpan span(trace, "look", "wait");
  Side& side = sides.front();
  copy(streams.front(), side.host.data() + read_slot * places, side.sums.data(), side.sums.bytes());
  streams.front().synchronize();
  return checked(read_slot);
}

void Workspace::send(std::vector<Stream>& streams, std::size_t pair, bool everything) {
  Side& side = sides.front();
  const std::size_t slot = pair / second_pair, first = everything ? 0 : pair,
                    count = everything ? std::size_t{places} : second_pair;
  streams.front().record(ready_);
  looks_.wait(ready_);
  copy(looks_, side.host.data() + slot * places + first, side.sums.data() + first, count * sizeof(double));
  looks_.record(seen_[slot]);
}

Sums Workspace::received(std::size_t pair) {
  const HostSpan span(trace, "look", "wait");
  seen_[pair / second_pair].synchronize();
  return checked(pair / second_pair);
}

Sums Workspace::checked(std::size_t slot) const {
  one.check();
  two.check();
  Sums found;
  std::copy_n(sides.front().host.data() + slot * places, places, found.begin());
  return found;
}

std::array<double, 2> Workspace::largest_values(std::vector<Stream>& streams, const Values& weights, const Values& b) {
  for (std::size_t d = 0; d < sides.size(); ++d) {
    Side& side = sides[d];
    double* const found = side.sums.data() + largest_pair;
    {
      const DeviceSpan span(trace, streams[d], "solver", "vectors", "compute");
      largest(streams[d], side.range, weights[d], b[d], side.q.data(), side.parts.data(), found);
    }
    copy(streams[d], side.host.data() + read_slot * places, found, 2 * sizeof(double));
  }
  const HostSpan span(trace, "look", "wait");
  std::array<double, 2> most{};
  for (std::size_t d = 0; d < sides.size(); ++d) {
    streams[d].synchronize();
    const double* const found = sides[d].host.data() + read_slot * places;
    for (std::size_t n = 0; n < 2; ++n)
      if (!(found[n] <= most[n])) most[n] = found[n];
  }
  return {comm.max(most[0]), comm.max(most[1])};
}

Vectors Workspace::directions() const {
  Vectors found;
  for (const Side& side : sides) found.push_back(side.p);
  return found;
}

void Workspace::make_room() {
  for (Side& side : sides)
    if (side.z.size() < side.r.size())
      for (Buffer<double>* buffer : {&side.z, &side.d}) *buffer = Buffer<double>(side.r.device(), side.r.size());
}

}  // namespace slipstream::krylov

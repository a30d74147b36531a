#include "solver/krylov/workspace.hpp"
#include "device/wait_quietly.hpp"

#include <algorithm>

#include <slipstream/error.hpp>
#include <slipstream/trace.hpp>

#include "machine/private_communicator.hpp"

namespace slipstream::krylov {
namespace {

/// Copies of a device's scalar products in pinned memory: two for alternate iterations, one for other reads.
constexpr std::size_t slots = 3, read_slot = 2;

std::size_t checked_components(const Layout& layout) {
  require(layout.components >= 1 && layout.components <= most_components,
          "one solve has 1 to " + std::to_string(most_components) + " components",
          {{"option", "components"}, {"given", layout.components}, {"least", 1}, {"most", most_components}});
  return static_cast<std::size_t>(layout.components);
}

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
    : comm(sharing(c)),
      layout(std::move(l)),
      components(checked_components(layout)),
      one(comm, machine, blocks_of(layout), layout.components),
      two(comm, machine, blocks_of(layout), 2 * layout.components),
      looks_(first_of(comm, machine), Priority::high),
      ready_(looks_.device()),
      seen_{Event(looks_.device()), Event(looks_.device())} {
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const Device device = machine.device(devices[d]).local;
    const Range range{layout.points[d], layout.block, layout.components};
    const auto points = components * static_cast<std::size_t>(range.points),
               blocks = components * static_cast<std::size_t>(range.blocks());
    const bool given = !layout.directions.empty();
    sides.push_back({range,
                     given ? layout.directions[d] : nullptr,
                     Buffer<double>(device, points),
                     Buffer<double>(device, points),
                     Buffer<double>(device, 2 * blocks + 1),
                     Buffer<double>(device, components * places),
                     Buffer<double>(device, slots * components * places, Memory::pinned),
                     Buffer<double>(device, given ? 0 : points),
                     Buffer<double>(device, 2 * components, Memory::pinned),
                     {}});
    Side& side = sides.back();
    if (!given) side.p = side.own_p.data();
    Stream stream(device);
    fill(stream, side.sums.data(), 0, side.sums.bytes());
    if (given && points > 0) fill(stream, side.q.data(), 0, side.q.bytes());
    stream.synchronize();
  }
}

Workspace::AddUp Workspace::other_add_up;

bool Workspace::loopable() const { return one.loopable() && two.loopable() && !trace && !other_add_up; }

void Workspace::add_up(std::vector<Stream>& streams, BlockSums& sums, std::size_t place) {
  if (other_add_up) return other_add_up(*this, streams, components * (&sums == &two ? 2 : 1), place);
  std::vector<const double*> parts;
  std::vector<double*> results;
  for (std::size_t d = 0; d < sides.size(); ++d) {
    parts.push_back(sides[d].parts.data());
    results.push_back(at(d, place));
  }
  const DeviceSpans spans(trace, streams, "solver", "sum", "reduction");
  sums.run(streams, parts, results);
}

void Workspace::give(std::vector<Stream>& streams, const Each& limit, const Each& scale) {
  for (std::size_t d = 0; d < sides.size(); ++d) {
    Buffer<double>& given = sides[d].given;
    std::copy_n(limit.of, components, given.data());
    std::copy_n(scale.of, components, given.data() + components);
    copy(streams[d], at(d, limits), given.data(), given.bytes());
  }
}

Sums Workspace::read(std::vector<Stream>& streams) {
  const HostSpan span(trace, "look", "wait");
  Side& side = sides.front();
  copy(streams.front(), side.host.data() + read_slot * side.sums.size(), side.sums.data(), side.sums.bytes());
  streams.front().synchronize();
  return checked(read_slot);
}

void Workspace::send(std::vector<Stream>& streams, std::size_t pair, bool everything) {
  Side& side = sides.front();
  const std::size_t slot = pair / second_pair, first = everything ? 0 : components * pair,
                    count = everything ? side.sums.size() : components * second_pair;
  streams.front().record(ready_);
  looks_.wait(ready_);
  copy(looks_, side.host.data() + slot * side.sums.size() + first, side.sums.data() + first, count * sizeof(double));
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
  const std::size_t count = sides.front().sums.size();
  const double* const first = sides.front().host.data() + slot * count;
  return {{first, first + count}, components};
}

std::vector<std::array<double, 2>> Workspace::largest_values(std::vector<Stream>& streams, const Values& weights,
                                                             const Values& b) {
  for (std::size_t d = 0; d < sides.size(); ++d) {
    Side& side = sides[d];
    double* const found = at(d, largest_pair);
    {
      const DeviceSpan span(trace, streams[d], "solver", "vectors", "compute");
      largest(streams[d], side.range, weights[d], b[d], side.q.data(), side.parts.data(), found);
    }
    copy(streams[d], side.host.data() + read_slot * side.sums.size(), found, 2 * components * sizeof(double));
  }
  const HostSpan span(trace, "look", "wait");
  std::vector<std::array<double, 2>> most(components);
  for (std::size_t d = 0; d < sides.size(); ++d) {
    streams[d].synchronize();
    const double* const found = sides[d].host.data() + read_slot * sides[d].sums.size();
    for (std::size_t c = 0; c < components; ++c)
      for (std::size_t n = 0; n < 2; ++n)
        if (!(found[2 * c + n] <= most[c][n])) most[c][n] = found[2 * c + n];
  }
  for (auto& pair : most)
    for (double& value : pair) value = comm.max(value);
  return most;
}

Vectors Workspace::directions() const {
  Vectors found;
  for (const Side& side : sides) found.push_back(side.p);
  return found;
}

void Workspace::require_one_component(const std::string& what) const {
  require(components == 1, ErrorCode::unsupported, what + " has one component",
          {{"option", "components"}, {"given", layout.components}, {"needed", 1}});
}

void Workspace::finish() noexcept {
  for (const Side& side : sides) wait_quietly(side.sums.device());
}

void Workspace::make_room() {
  for (Side& side : sides)
    if (side.z.size() < side.r.size()) side.z = Buffer<double>(side.r.device(), side.r.size());
}

}  // namespace slipstream::krylov

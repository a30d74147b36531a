#include <slipstream/arena_report.hpp>

#include "machine/records.hpp"

namespace slipstream {
namespace {

Arena::Use sum(const Arena& arena, Memory one, Memory other) {
  const Arena::Use a = arena.use(one), b = arena.use(other);
  return {a.chunks + b.chunks, a.bytes + b.bytes, a.used + b.used};
}

}  // namespace

std::vector<ArenaRow> arena_report(const Communicator& comm, const Machine& machine) {
  std::vector<ArenaRow> mine;
  for (const int device : machine.devices_of_rank(comm.rank())) {
    const Arena arena = comm.arena(machine.device(device).local);
    mine.push_back(
        {device, sum(arena, Memory::device, Memory::message), sum(arena, Memory::pinned, Memory::pinned_shared)});
  }
  return by_device(comm, machine, mine);
}

}  // namespace slipstream

#pragma once
#include <cstddef>
#include <vector>

#include <slipstream/arena.hpp>
#include <slipstream/communicator.hpp>
#include <slipstream/machine.hpp>

namespace slipstream {

/// The memory that all exchanges of a communicator share on a device.
struct ArenaRow {
  int device = 0;
  Arena::Use on_device;  ///< device memory for receive buffers, counters and packed messages
  Arena::Use on_host;    ///< pinned memory through which messages travel
};

/// Lists the memory that exchanges share on each device of the machine, one entry per device. Collective.
std::vector<ArenaRow> arena_report(const Communicator& comm, const Machine& machine);

}  // namespace slipstream

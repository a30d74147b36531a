#pragma once
// A message between two devices: what both ends know of it before there are ends.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <slipstream/field.hpp>
#include <slipstream/route.hpp>
#include <slipstream/throttle.hpp>
#include <slipstream/transfer.hpp>

#include "coding/wire.hpp"

namespace slipstream {

/// What is true of a pair of devices.
struct Pair {
  bool same_device = false;  ///< one device of one process
  bool same_process = false;
  bool same_node = false;
  bool peer = false;         ///< kernels of the source may store to the target
  bool mappable = true;      ///< the target's fields can be mapped by other processes
  bool combines = false;     ///< some transfer does more than copy
  bool host = false;         ///< devices of the host backend
  bool unshared = true;      ///< neither device is used by a second rank
  bool takes_turns = false;  ///< ranks that share one of the devices use it one at a time
  bool whole_lines = false;  ///< lines that kernels of the source store reach the target in one piece
  bool exclusive = true;     ///< no device of the machine is used by a second rank
  bool one_each = true;      ///< every rank drives one device
  std::string gpu_mpi;       ///< why device memory cannot be given to MPI; empty where a message proved that it can
  auto operator<=>(const Pair&) const = default;
};

class RouteState;
/// The array of a block as a mover sees it.
struct Place : BlockData {
  bool free_gaps = false;  ///< elements between rows, beyond the ghosts, are nobody's and may be overwritten
  int array = -1;          ///< its number in Arrays, where it has one
};

struct Cut;

/// Everything about one message (all transfers from one device to another) that the two ends agree on.
struct Message {
  int source = 0;  ///< devices, in the machine's numbering
  int target = 0;
  int source_rank = 0;
  int target_rank = 0;
  int tag = 0;
  std::uint64_t plan = 0;
  std::size_t bytes = 0;  ///< packed, as it travels
  /// Where the route packs it in parts, one behind the other: these, in which legs have other places than by
  /// themselves.
  std::shared_ptr<const Cut> parts;
  MPI_Comm comm = MPI_COMM_NULL;
  Knobs knobs;
  Throttle throttle;
  std::shared_ptr<RouteState> state;  ///< what the route's prepare() made
  bool combines = false;              ///< the target adds (...) what arrives, in an order over all messages
  bool answered = false;              ///< the target sends to the source too, by the same route
  bool in_place_ok = true;            ///< ghosts of the target can be addressed by the source
  bool host_shared = false;           ///< both ends can map the same host memory
  bool whole_lines = false;           ///< lines that the source stores reach the target in one piece
  bool produced = false;              ///< the caller's kernels store some of its legs
  bool overlaps = false;  ///< targets of the exchange are sources, too: nothing is stored before all is packed
  bool poison = false;    ///< nothing but what is produced reaches the target's arrays before end()

  /// All of its values lie in slots at once, which are freed by a counter.
  bool at_once() const { return combines || produced || overlaps || poison; }
  /// Also of blocks of one device.
  bool through_slots() const { return combines || overlaps; }
};

/// One transfer of one item within a message. Packed values have the order of the source's memory and are encoded.
struct Leg {
  const Transfer* transfer = nullptr;
  int item = 0;
  std::size_t offset = 0;  ///< bytes into the packed message (of its chunk)
  DType type = DType::f32;
  Layout layout = Layout::soa, target_layout = Layout::soa;
  int components = 1, target_components = 1;  ///< of the fields
  bool rebinds = false;
  Wire wire = Wire::same;  ///< how its values travel
  bool produced = false;   ///< the caller's kernels store its values: it has windows and no movers
  CellBlock block = {};    ///< of the whole transfer, where only a part of it is here

  bool coded() const { return wire.codes(); }
  /// Packed, one component behind the other, and one part of complex numbers where blocks hold them.
  std::size_t bytes() const;
};

}  // namespace slipstream

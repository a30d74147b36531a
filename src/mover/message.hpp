#pragma once
// A message between two devices: the facts that both ends share.
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

/// Properties of a pair of devices.
struct Pair {
  bool same_device = false;  ///< source and target are one device of one process
  bool same_process = false;
  bool same_node = false;
  bool peer = false;         ///< kernels of the source can store to the target
  bool mappable = true;      ///< other processes can map the target's fields
  bool combines = false;     ///< whether a transfer adds to, or otherwise combines with, target values
  bool host = false;         ///< both devices belong to the host backend
  bool unshared = true;      ///< neither device is used by a second rank
  bool takes_turns = false;  ///< ranks that share one of the devices use it one at a time
  bool whole_lines = false;  ///< a cache line that the source's kernels store reaches the target in one piece
  bool exclusive = true;     ///< no device of the machine is used by a second rank
  bool one_each = true;      ///< whether every rank drives exactly one device
  std::string gpu_mpi;       ///< reason why MPI cannot take device memory; empty if a test message arrived
  auto operator<=>(const Pair&) const = default;
};

class RouteState;
/// A block's array with the attributes that copies need.
struct Place : BlockData {
  bool free_gaps = false;  ///< whether padding between rows, beyond the ghosts, may be overwritten
  int array = -1;          ///< number of the array in the table Arrays; -1: not in the table
};

struct Cut;

/// All transfers from one device to another, as one message. Both ends have the same description.
struct Message {
  int source = 0;  ///< indices of the sending and the receiving device among all devices of the machine
  int target = 0;
  int source_rank = 0;
  int target_rank = 0;
  int tag = 0;
  std::uint64_t plan = 0;
  std::size_t bytes = 0;  ///< size of the message when packed and encoded
  /// Cut of the message into parts that are packed one after another; null: one part. In parts, transfers have other
  /// offsets.
  std::shared_ptr<const Cut> parts;
  MPI_Comm comm = MPI_COMM_NULL;
  Knobs knobs;
  Throttle throttle;
  std::shared_ptr<RouteState> state;  ///< state that the route's prepare() made for the exchange
  bool combines = false;              ///< whether received values are combined, such as summed, in a fixed order
  bool answered = false;              ///< symmetric pair: whether the target sends to the source too, by the same route
  bool in_place_ok = true;            ///< whether the source can address the target's ghosts
  bool host_shared = false;           ///< whether both ends can map the same host memory
  bool whole_lines = false;           ///< whether cache lines that the source stores reach the target in one piece
  bool produced = false;              ///< whether the caller's kernels store some of its values
  bool overlaps = false;  ///< some targets of the exchange are also sources: all is packed before anything is stored
  bool poison = false;    ///< debug mode: only the caller's kernels store to the target's arrays before end()

  /// Whether all values of the message are in slots (receive buffers) at the same time. A counter then frees the slots.
  bool at_once() const { return combines || produced || overlaps || poison; }
  /// Whether values go through receive buffers even between blocks of one device.
  bool through_slots() const { return combines || overlaps; }
};

/// One transfer (values of a field from one block to another) within a message, packed in the order of its source.
struct Leg {
  const Transfer* transfer = nullptr;
  int item = 0;
  std::size_t offset = 0;  ///< offset in bytes within the packed message or chunk
  DType type = DType::f32;
  Layout layout = Layout::soa, target_layout = Layout::soa;
  int components = 1, target_components = 1;  ///< number of components of the source field and of the target field
  bool rebinds = false;
  Wire wire = Wire::same;  ///< coding of the transfer's values
  bool produced = false;   ///< whether the caller's kernels store the values, so that no mover does
  CellBlock block = {};    ///< extent of the cell blocks that the coding packs together, as in the whole transfer

  bool coded() const { return wire.codes(); }
  /// Packed size in bytes. Components follow one another. So do real and imaginary parts of coded blocks.
  std::size_t bytes() const;
};

}  // namespace slipstream

#pragma once
// One message for each pair of nodes: which messages of devices are parts of it, where each lies, which rank sends it
// and which receives it. Every rank computes the same.
#include <string>
#include <vector>

#include "route/carriage.hpp"
#include "route/route.hpp"

namespace slipstream {

struct NodeMessage {
  /// A message from a device of the one node to a device of the other.
  struct Part {
    int source = 0;  ///< devices
    int target = 0;
    int source_rank = 0;
    int target_rank = 0;
    std::size_t offset = 0;               ///< of its values
    Pieces pieces;                        ///< in which its own two ends copy it
    int first_chunk = 0, last_chunk = 0;  ///< that hold its values
    std::size_t end() const { return offset + pieces.bytes; }
  };

  int from = 0;  ///< nodes
  int to = 0;
  int sender = 0;  ///< ranks that drive MPI: of those with a part, the one that drives fewest
  int receiver = 0;
  std::vector<Part> parts;  ///< by source, then target; behind a head that holds the envelope
  Pieces chunks;            ///< in which MPI sends it

  /// Pieces of the part that must lie in their places before the chunk may leave.
  int pieces_before(int chunk, const Part& part) const;
  /// Pieces of the part that lie wholly in its chunks up to and without `chunk`.
  int pieces_within(int chunk, const Part& part) const;
  /// "the message of node 1 to node 0 (rank 3 sends it, with parts of ranks 2 and 3; rank 0 receives it)"
  std::string described() const;

  static constexpr std::size_t head = 512;
};

/// Messages within a node are left out.
std::vector<NodeMessage> node_messages(const Machine& machine, const std::vector<RouteSetup::Letter>& letters,
                                       const Knobs& knobs, const Throttle& throttle);

}  // namespace slipstream

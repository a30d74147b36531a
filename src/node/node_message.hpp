#pragma once
// One message for each pair of nodes: its parts, their offsets, and the ranks that send and receive it. All ranks of
// its two nodes compute the same parts.
#include <string>
#include <vector>

#include "mover/route_state.hpp"
#include "node/transport.hpp"

namespace slipstream {

struct NodeMessage {
  /// Part of the message: all values that go from a device of one node to a device of the other.
  struct Part {
    int source = 0;  ///< numbers of the source and target device
    int target = 0;
    int source_rank = 0;
    int target_rank = 0;
    std::size_t offset = 0;               ///< byte offset of the part's values in the message
    Pieces pieces;                        ///< byte ranges into which the sending and receiving device cut the values
    int first_chunk = 0, last_chunk = 0;  ///< indices of the MPI messages (chunks) that contain the part's values
    std::size_t end() const { return offset + pieces.bytes; }
  };

  int from = 0;  ///< numbers of the source and target node
  int to = 0;
  int sender = 0;  ///< ranks that send and receive it by MPI, chosen to share the messages evenly among a node's ranks
  int receiver = 0;
  std::vector<Part> parts;  ///< values for each pair of devices, by source, then target, after a header in the message
  Pieces chunks;            ///< chunks in which MPI sends the message

  /// Number of pieces of a part (values of two devices) that must be copied before MPI may send a chunk of a message.
  int pieces_before(int chunk, const Part& part) const;
  /// Number of byte ranges of a device pair's values (`part`) that are complete once chunks 0 to `chunk` - 1 arrived.
  int pieces_within(int chunk, const Part& part) const;
  /// Describes the message, such as "the message of node 1 to node 0 (rank 3 sends it, with parts of ranks 2 and 3;
  /// rank 0 receives it)".
  std::string described() const;

  static constexpr std::size_t head = 512;
};

/// Lists the messages between nodes. `letters`: messages between devices. The choice of the ranks that call MPI on a
/// node is right only if `letters` has all messages that leave or reach that node.
std::vector<NodeMessage> node_messages(const Machine& machine, const std::vector<RouteSetup::Letter>& letters,
                                       const Knobs& knobs, const Throttle& throttle);

}  // namespace slipstream

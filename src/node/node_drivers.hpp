#pragma once
// State machines that send and receive a message between nodes by MPI. Chunks leave as soon as they are full, and may
// arrive in any order.
#include <string>
#include <vector>

#include "node/node_boxes.hpp"
#include "node/requests.hpp"

namespace slipstream {

/// MPI communicator and tags of a message between nodes.
struct NodeAddress {
  MPI_Comm comm = MPI_COMM_NULL;
  int tag = 0;  ///< tag of the first chunk; further chunks have the tags that follow
  std::uint64_t plan = 0;
};

class NodeDispatch {
 public:
  NodeDispatch(const NodeMessage& message, const NodeOutbox& box, const NodeAddress& address);
  /// Sends the chunks that are full. Returns true once the message of this exchange has left.
  bool progress(std::uint64_t sequence);
  std::string waiting_for() const;
  /// Called after the last exchange. Returns false if MPI may still access the buffer.
  bool settle() { return requests_.settle(); }

 private:
  const NodeMessage::Part* missing(int chunk) const;
  const NodeMessage& message_;
  NodeOutbox box_;
  std::uint64_t plan_;
  std::vector<std::size_t> first_part_;  // index of the first part of each chunk
  Requests requests_;
  std::uint64_t sequence_ = 0, sent_ = 0;
  std::vector<bool> started_;  // for each chunk, whether its send has started
  int left_ = 0;               // number of chunks whose send has not started
};

class NodeArrival {
 public:
  NodeArrival(const NodeMessage& message, const NodeInbox& box, const NodeAddress& address);
  /// Receives chunks. Returns true once the message of this exchange has arrived.
  bool progress(std::uint64_t sequence);
  std::string waiting_for() const;
  bool settle() { return requests_.settle(); }

 private:
  int occupied() const;
  int request(int chunk) const;
  const NodeMessage& message_;
  NodeInbox box_;
  Requests requests_;
  std::uint64_t sequence_ = 0;
  bool open_ = false;
  std::vector<bool> arrived_;  // for each chunk, whether it has arrived
  int left_ = 0;               // number of chunks that have not arrived
};

}  // namespace slipstream

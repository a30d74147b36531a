#pragma once
// State machines of the ranks that give a message between nodes to MPI and take it from there. Neither waits for
// anything in an order: chunks leave as they fill, and may arrive in any order.
#include <string>
#include <vector>

#include "route/node_boxes.hpp"
#include "route/requests.hpp"

namespace slipstream {

/// What MPI is told about a message.
struct NodeAddress {
  MPI_Comm comm = MPI_COMM_NULL;
  int tag = 0;  ///< of the first chunk; each has its own
  std::uint64_t plan = 0;
};

class NodeDispatch {
 public:
  NodeDispatch(const NodeMessage& message, const NodeOutbox& box, const NodeAddress& address);
  /// True when this exchange's message has left.
  bool progress(std::uint64_t sequence);
  std::string waiting_for() const;
  /// At the end: false where MPI may still use the box.
  bool settle() { return requests_.settle(); }

 private:
  const NodeMessage::Part* missing(int chunk) const;
  const NodeMessage& message_;
  NodeOutbox box_;
  std::uint64_t plan_;
  std::vector<std::size_t> first_part_;  // in each chunk
  Requests requests_;
  std::uint64_t sequence_ = 0, sent_ = 0;
  std::vector<bool> started_;  // chunks
  int left_ = 0;               // chunks not started
};

class NodeArrival {
 public:
  NodeArrival(const NodeMessage& message, const NodeInbox& box, const NodeAddress& address);
  /// True when this exchange's message has arrived.
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
  std::vector<bool> arrived_;  // chunks
  int left_ = 0;               // chunks under way
};

}  // namespace slipstream

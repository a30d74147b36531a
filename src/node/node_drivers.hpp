#pragma once
// State machines that send and receive a message between nodes by MPI, and the layout of the shared host memory in
// which the message lies. Chunks leave as soon as they are full, and may arrive in any order. Only hosts access the
// counters, which never decrease.
#include <string>
#include <vector>

#include <slipstream/signal.hpp>

#include "mover/lower.hpp"
#include "node/node_message.hpp"
#include "node/requests.hpp"

namespace slipstream {

/// Send buffer of a message between nodes, in shared host memory: counters, then the values.
class NodeOutbox {
 public:
  NodeOutbox(const NodeMessage& message, std::byte* base) : message_(&message), base_(base) {}
  /// Number of the last exchange whose message has left.
  Signal* sent() const { return line(0); }
  /// Number of pieces of a part (one device's message) that were written, over all exchanges so far.
  Signal* full(int part) const { return line(1 + part); }
  std::byte* place() const { return base_ + counters(*message_); }
  static std::size_t bytes(const NodeMessage& message) { return counters(message) + message.chunks.bytes; }

 private:
  static constexpr std::size_t line_bytes = 128;
  static std::size_t counters(const NodeMessage& message) {
    return round_up(line_bytes * (1 + message.parts.size()), NodeMessage::head);
  }
  Signal* line(int n) const { return reinterpret_cast<Signal*>(base_ + line_bytes * static_cast<std::size_t>(n)); }
  const NodeMessage* message_;
  std::byte* base_;
};

/// Receive buffers of a message between nodes: counters, then values of `depth` exchanges, used alternately.
class NodeInbox {
 public:
  static constexpr int depth = 2;
  NodeInbox(const NodeMessage& message, std::byte* base) : message_(&message), base_(base) {}
  /// Number of the last exchange for whose values the receiver of a part (one device's message) has freed memory.
  Signal* free(int part) const {
    return reinterpret_cast<Signal*>(base_ + line_bytes * static_cast<std::size_t>(part));
  }
  /// Number of the last exchange whose chunk of the message has arrived.
  Signal* full(int chunk) const { return reinterpret_cast<Signal*>(base_ + frees(*message_)) + chunk; }
  PlaceRing places() const {
    return {base_ + frees(*message_) + fulls(*message_), round_up(message_->chunks.bytes, NodeMessage::head), depth};
  }
  static std::size_t bytes(const NodeMessage& message) {
    return frees(message) + fulls(message) + depth * round_up(message.chunks.bytes, NodeMessage::head);
  }

 private:
  static constexpr std::size_t line_bytes = 128;
  static std::size_t frees(const NodeMessage& message) {
    return round_up(line_bytes * message.parts.size(), NodeMessage::head);
  }
  static std::size_t fulls(const NodeMessage& message) {
    return round_up(sizeof(Signal) * static_cast<std::size_t>(message.chunks.count()), NodeMessage::head);
  }
  const NodeMessage* message_;
  std::byte* base_;
};

/// MPI communicator and tags of a message between nodes.
struct NodeAddress {
  MPI_Comm comm = MPI_COMM_NULL;
  int tag = 0;  ///< MPI tag of the first chunk (range of bytes) of the message; further chunks have the next tags
  std::uint64_t plan = 0;
};

class NodeDispatch {
 public:
  NodeDispatch(const NodeMessage& message, const NodeOutbox& box, const NodeAddress& address)
      : message_(message), box_(box), plan_(address.plan) {
    const Pieces& chunks = message.chunks;
    std::size_t part = 0;
    for (int c = 0; c < chunks.count(); ++c) {
      requests_.add_send(box.place() + chunks.at(c), chunks.size(c), message.receiver, address.tag + c, address.comm);
      while (part < message.parts.size() && message.parts[part].end() <= chunks.at(c)) ++part;
      first_part_.push_back(part);
    }
  }

  /// Sends the chunks that are full. Returns true once the message of this exchange has left.
  bool progress(std::uint64_t sequence) {
    if (sequence_ != sequence) {
      sequence_ = sequence;
      left_ = message_.chunks.count();
      started_.assign(static_cast<std::size_t>(left_), false);
      *reinterpret_cast<Envelope*>(box_.place()) = {plan_, sequence};
    }
    if (sent_ == sequence) return true;
    for (int chunk = 0; left_ > 0 && chunk < message_.chunks.count(); ++chunk) {
      if (started_[chunk] || missing(chunk)) continue;
      requests_.start(chunk);
      started_[chunk] = true;
      --left_;
    }
    // All requests are tested at every call, because MPI makes progress only inside its calls.
    const bool gone = requests_.all_done();
    if (left_ > 0 || !gone) return false;
    sent_ = sequence;
    store_release(box_.sent(), sequence);
    return true;
  }

  std::string waiting_for() const {
    if (sent_ == sequence_) return {};
    for (int chunk = 0; chunk < message_.chunks.count(); ++chunk)
      if (const NodeMessage::Part* part = missing(chunk))
        return "the part of " + end_of(part->source, part->source_rank) + " in " + message_.described();
    return "the send of " + message_.described();
  }

  /// Called after the last exchange. Returns false if MPI may still access the buffer.
  bool settle() { return requests_.settle(); }

 private:
  /// The first pair of devices whose values for a chunk of the node-to-node message are still missing, or null.
  const NodeMessage::Part* missing(int chunk) const {
    const std::size_t end = message_.chunks.at(chunk) + message_.chunks.size(chunk);
    for (std::size_t n = first_part_[chunk]; n < message_.parts.size() && message_.parts[n].offset < end; ++n) {
      const NodeMessage::Part& part = message_.parts[n];
      const std::uint64_t pieces = (sequence_ - 1) * static_cast<std::uint64_t>(part.pieces.count()) +
                                   static_cast<std::uint64_t>(message_.pieces_before(chunk, part));
      if (load_acquire(box_.full(static_cast<int>(n))) < pieces) return &part;
    }
    return nullptr;
  }

  const NodeMessage& message_;
  NodeOutbox box_;
  std::uint64_t plan_;
  std::vector<std::size_t> first_part_;  // for each chunk of the message, index of the first pair of devices in it
  Requests requests_;
  std::uint64_t sequence_ = 0, sent_ = 0;
  std::vector<bool> started_;  // for each chunk, whether its send has started
  int left_ = 0;               // number of chunks whose send has not started
};

class NodeArrival {
 public:
  NodeArrival(const NodeMessage& message, const NodeInbox& box, const NodeAddress& address)
      : message_(message), box_(box) {
    const Pieces& chunks = message.chunks;
    const PlaceRing places = box.places();
    for (int place = 0; place < places.depth; ++place)
      for (int c = 0; c < chunks.count(); ++c)
        requests_.add_receive(places.of(static_cast<std::uint64_t>(place) + 1) + chunks.at(c), chunks.size(c),
                              message.sender, address.tag + c, address.comm);
  }

  /// Receives chunks. Returns true once the message of this exchange has arrived.
  bool progress(std::uint64_t sequence) {
    if (sequence_ != sequence) {
      sequence_ = sequence;
      open_ = false;
      left_ = message_.chunks.count();
      arrived_.assign(static_cast<std::size_t>(left_), false);
    }
    if (!open_) {
      if (occupied() >= 0) return false;
      for (int chunk = 0; chunk < message_.chunks.count(); ++chunk) requests_.start(request(chunk));
      open_ = true;
    }
    for (int chunk = 0; left_ > 0 && chunk < message_.chunks.count(); ++chunk) {
      if (arrived_[chunk] || !requests_.done(request(chunk))) continue;
      arrived_[chunk] = true;
      --left_;
      store_release(box_.full(chunk), sequence);
    }
    return left_ == 0;
  }

  std::string waiting_for() const {
    if (left_ == 0) return {};
    if (const int part = open_ ? -1 : occupied(); part >= 0) {
      const NodeMessage::Part& p = message_.parts[static_cast<std::size_t>(part)];
      return end_of(p.target, p.target_rank) + " to free its place in " + message_.described();
    }
    return message_.described();
  }

  bool settle() { return requests_.settle(); }

 private:
  /// First part of the message whose receiver still reads this exchange's buffer, or -1. All buffers are free at first.
  int occupied() const {
    if (sequence_ <= NodeInbox::depth) return -1;
    for (int part = 0; part < static_cast<int>(message_.parts.size()); ++part)
      if (load_acquire(box_.free(part)) < sequence_) return part;
    return -1;
  }

  int request(int chunk) const {
    return static_cast<int>((sequence_ - 1) % NodeInbox::depth) * message_.chunks.count() + chunk;
  }

  const NodeMessage& message_;
  NodeInbox box_;
  Requests requests_;
  std::uint64_t sequence_ = 0;
  bool open_ = false;
  std::vector<bool> arrived_;  // for each chunk of the incoming message, whether it has arrived
  int left_ = 0;               // number of chunks that have not arrived
};

}  // namespace slipstream

#pragma once
// Layout of the shared host memory of a node for one message between nodes. Only hosts access the counters, which never
// decrease.
#include <slipstream/signal.hpp>

#include "mover/lower.hpp"
#include "node/node_message.hpp"

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

}  // namespace slipstream

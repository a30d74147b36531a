#include "node/node_drivers.hpp"

namespace slipstream {

NodeDispatch::NodeDispatch(const NodeMessage& message, const NodeOutbox& box, const NodeAddress& address)
    : message_(message), box_(box), plan_(address.plan) {
  const Pieces& chunks = message.chunks;
  std::size_t part = 0;
  for (int c = 0; c < chunks.count(); ++c) {
    requests_.add_send(box.place() + chunks.at(c), chunks.size(c), message.receiver, address.tag + c, address.comm);
    while (part < message.parts.size() && message.parts[part].end() <= chunks.at(c)) ++part;
    first_part_.push_back(part);
  }
}

/// First part of the message (one device's message) that lacks pieces of the chunk, or null.
const NodeMessage::Part* NodeDispatch::missing(int chunk) const {
  const std::size_t end = message_.chunks.at(chunk) + message_.chunks.size(chunk);
  for (std::size_t n = first_part_[chunk]; n < message_.parts.size() && message_.parts[n].offset < end; ++n) {
    const NodeMessage::Part& part = message_.parts[n];
    const std::uint64_t pieces = (sequence_ - 1) * static_cast<std::uint64_t>(part.pieces.count()) +
                                 static_cast<std::uint64_t>(message_.pieces_before(chunk, part));
    if (load_acquire(box_.full(static_cast<int>(n))) < pieces) return &part;
  }
  return nullptr;
}

bool NodeDispatch::progress(std::uint64_t sequence) {
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

std::string NodeDispatch::waiting_for() const {
  if (sent_ == sequence_) return {};
  for (int chunk = 0; chunk < message_.chunks.count(); ++chunk)
    if (const NodeMessage::Part* part = missing(chunk))
      return "the part of " + end_of(part->source, part->source_rank) + " in " + message_.described();
  return "the send of " + message_.described();
}

NodeArrival::NodeArrival(const NodeMessage& message, const NodeInbox& box, const NodeAddress& address)
    : message_(message), box_(box) {
  const Pieces& chunks = message.chunks;
  const PlaceRing places = box.places();
  for (int place = 0; place < places.depth; ++place)
    for (int c = 0; c < chunks.count(); ++c)
      requests_.add_receive(places.of(static_cast<std::uint64_t>(place) + 1) + chunks.at(c), chunks.size(c),
                            message.sender, address.tag + c, address.comm);
}

int NodeArrival::request(int chunk) const {
  return static_cast<int>((sequence_ - 1) % NodeInbox::depth) * message_.chunks.count() + chunk;
}

/// First part of the message whose receiver still reads this exchange's buffer, or -1. All buffers are free at first.
int NodeArrival::occupied() const {
  if (sequence_ <= NodeInbox::depth) return -1;
  for (int part = 0; part < static_cast<int>(message_.parts.size()); ++part)
    if (load_acquire(box_.free(part)) < sequence_) return part;
  return -1;
}

bool NodeArrival::progress(std::uint64_t sequence) {
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

std::string NodeArrival::waiting_for() const {
  if (left_ == 0) return {};
  if (const int part = open_ ? -1 : occupied(); part >= 0) {
    const NodeMessage::Part& p = message_.parts[static_cast<std::size_t>(part)];
    return end_of(p.target, p.target_rank) + " to free its place in " + message_.described();
  }
  return message_.described();
}

}  // namespace slipstream

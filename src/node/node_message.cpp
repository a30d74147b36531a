#include "node/node_message.hpp"

#include <map>
#include <set>

#include "mover/lower.hpp"

namespace slipstream {
namespace {

constexpr std::size_t part_alignment = 512;
static_assert(sizeof(Envelope) <= NodeMessage::head && NodeMessage::head % part_alignment == 0);

/// Places the parts of a message one after another and computes the chunks that contain each part.
void lay_out(NodeMessage& message, const Knobs& knobs, const Throttle& throttle) {
  std::size_t bytes = NodeMessage::head;
  for (auto& part : message.parts) {
    part.offset = bytes;
    bytes += round_up(part.pieces.bytes, part_alignment);
  }
  message.chunks = pieces_of(bytes, knobs, true, throttle);
  for (auto& part : message.parts) {
    part.first_chunk = static_cast<int>(part.offset / message.chunks.each);
    part.last_chunk = static_cast<int>((part.end() - 1) / message.chunks.each);
  }
}

/// Returns the rank that calls MPI for the fewest messages so far, or the lowest such rank.
int idlest(const std::set<int>& ranks, std::map<int, int>& driven) {
  int found = *ranks.begin();
  for (const int rank : ranks)
    if (driven[rank] < driven[found]) found = rank;
  ++driven[found];
  return found;
}

std::string listed(const std::set<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t n = 0;
  for (const int rank : ranks) {
    text += std::to_string(rank);
    if (++n < ranks.size()) text += n + 1 == ranks.size() ? " and " : ", ";
  }
  return text;
}

}  // namespace

int NodeMessage::pieces_before(int chunk, const Part& part) const {
  const std::size_t begin = chunks.at(chunk), end = std::min(begin + chunks.size(chunk), part.end());
  if (begin >= part.end() || end <= part.offset) return 0;
  return static_cast<int>((end - part.offset + part.pieces.each - 1) / part.pieces.each);
}

int NodeMessage::pieces_within(int chunk, const Part& part) const {
  const std::size_t end = chunks.at(chunk);
  if (end >= part.end()) return part.pieces.count();
  return end <= part.offset ? 0 : static_cast<int>((end - part.offset) / part.pieces.each);
}

std::string NodeMessage::described() const {
  std::set<int> ranks;
  for (const Part& part : parts) ranks.insert(part.source_rank);
  return "the message of node " + std::to_string(from) + " to node " + std::to_string(to) + " (rank " +
         std::to_string(sender) + " sends it, with parts of " + listed(ranks) + "; rank " + std::to_string(receiver) +
         " receives it)";
}

std::vector<NodeMessage> node_messages(const Machine& machine, const std::vector<RouteSetup::Letter>& letters,
                                       const Knobs& knobs, const Throttle& throttle) {
  std::map<std::pair<int, int>, NodeMessage> by_nodes;
  for (const auto& letter : letters) {
    const MachineDevice &source = machine.device(letter.source), &target = machine.device(letter.target);
    if (source.node == target.node) continue;
    NodeMessage& message = by_nodes[{source.node, target.node}];
    message.from = source.node;
    message.to = target.node;
    NodeMessage::Part& part = message.parts.emplace_back();
    part.source = letter.source;
    part.target = letter.target;
    part.source_rank = source.rank;
    part.target_rank = target.rank;
    part.pieces = pieces_of(letter.bytes, knobs, true, throttle);
  }
  std::vector<NodeMessage> messages;
  std::map<int, int> driven;
  for (auto& [nodes, message] : by_nodes) {
    lay_out(message, knobs, throttle);
    std::set<int> senders, receivers;
    for (const auto& part : message.parts) {
      senders.insert(part.source_rank);
      receivers.insert(part.target_rank);
    }
    message.sender = idlest(senders, driven);
    message.receiver = idlest(receivers, driven);
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace slipstream

// Route node: one message per pair of nodes. Tests its contents and the ranks that drive it.
#include "node/node_message.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace slipstream {
namespace {

/// A machine of `nodes` nodes with `ranks` ranks each, which have `devices` devices each.
Machine machine_of(int nodes, int ranks, int devices) {
  std::vector<MachineDevice> all;
  for (int n = 0; n < nodes * ranks * devices; ++n) {
    MachineDevice& device = all.emplace_back();
    device.node = n / (ranks * devices);
    device.rank = n / devices;
    device.local = {Backend::host, n % devices};
    device.memory = 1;
  }
  const std::size_t count = all.size();
  std::vector<Link> links(count * count, {LinkKind::network, 1, false});
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b)
      if (all[a].node == all[b].node) links[a * count + b].kind = a == b ? LinkKind::same : LinkKind::memory;
  return Machine("described", std::move(all), std::move(links));
}

/// Messages from each device to each other device.
std::vector<RouteSetup::Letter> letters_of(const Machine& machine, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<RouteSetup::Letter> letters;
  for (int source = 0; source < machine.devices(); ++source)
    for (int target = 0; target < machine.devices(); ++target)
      if (source != target) letters.push_back({source, target, 1 + random() % 9000});
  return letters;
}

TEST(NodeMessages, HoldEachMessageBetweenNodesOnceAndNoneWithin) {
  const Machine machine = machine_of(3, 2, 2);
  std::map<std::pair<int, int>, int> seen;
  for (const NodeMessage& message : node_messages(machine, letters_of(machine), {}, {}))
    for (const auto& part : message.parts) {
      ++seen[{part.source, part.target}];
      EXPECT_EQ(machine.device(part.source).node, message.from);
      EXPECT_EQ(machine.device(part.target).node, message.to);
    }
  for (const auto& letter : letters_of(machine)) {
    const bool between = machine.device(letter.source).node != machine.device(letter.target).node;
    EXPECT_EQ((seen[{letter.source, letter.target}]), between ? 1 : 0) << letter.source << " to " << letter.target;
  }
}

TEST(NodeMessages, AreOneForEachPairOfNodes) {
  const Machine machine = machine_of(4, 2, 3);
  EXPECT_EQ(node_messages(machine, letters_of(machine), {}, {}).size(), 4u * 3u);
}

TEST(NodeMessages, GiveNoTwoPartsTheSameBytes) {
  const Machine machine = machine_of(2, 2, 3);
  for (const NodeMessage& message : node_messages(machine, letters_of(machine), {}, {})) {
    std::size_t end = NodeMessage::head;
    for (const auto& part : message.parts) {
      EXPECT_GE(part.offset, end);
      end = part.end();
    }
    EXPECT_LE(end, message.chunks.bytes);
  }
}

TEST(NodeMessages, AreDrivenByRanksWithPartsInTurn) {
  const Machine machine = machine_of(5, 4, 1);
  std::map<int, int> driven;
  for (const NodeMessage& message : node_messages(machine, letters_of(machine), {}, {})) {
    EXPECT_EQ(message.sender / 4, message.from);
    EXPECT_EQ(message.receiver / 4, message.to);
    ++driven[message.sender];
    ++driven[message.receiver];
  }
  // 4 messages leave a node and 4 reach it, shared by its ranks.
  for (int rank = 0; rank < 20; ++rank) EXPECT_EQ(driven[rank], 2) << "rank " << rank;
}

TEST(NodeMessages, AreDrivenByNoRankWithoutAPart) {
  const Machine machine = machine_of(2, 3, 1);
  const auto messages = node_messages(machine, {{1, 5, 100}, {2, 4, 100}}, {}, {});
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_TRUE(messages[0].sender == 1 || messages[0].sender == 2);
  EXPECT_TRUE(messages[0].receiver == 4 || messages[0].receiver == 5);
}

/// Checks how many byte ranges (pieces) each MPI chunk of a node's message needs, and how many earlier chunks complete.
TEST(NodeMessages, KnowWhichPiecesLieInWhichChunks) {
  const Machine machine = machine_of(2, 2, 2);
  for (const std::int64_t size : {512, 1536, 4096, 0}) {
    Knobs knobs;
    knobs.chunk = size;
    for (const NodeMessage& message : node_messages(machine, letters_of(machine, 7), knobs, {}))
      for (const auto& part : message.parts)
        for (int chunk = 0; chunk < message.chunks.count(); ++chunk) {
          const std::size_t begin = message.chunks.at(chunk), end = begin + message.chunks.size(chunk);
          int before = 0, within = 0;
          for (int piece = 0; piece < part.pieces.count(); ++piece) {
            const std::size_t from = part.offset + part.pieces.at(piece), to = from + part.pieces.size(piece);
            if (from < end && to > begin) before = piece + 1;
            if (to <= begin) within = piece + 1;
          }
          EXPECT_EQ(message.pieces_before(chunk, part), before) << "chunk " << chunk << " of " << size;
          EXPECT_EQ(message.pieces_within(chunk, part), within) << "chunk " << chunk << " of " << size;
          const bool holds = begin < part.end() && end > part.offset;
          EXPECT_EQ(part.first_chunk <= chunk && chunk <= part.last_chunk, holds) << "chunk " << chunk;
        }
  }
}

TEST(NodeMessages, SayWhoSendsAndReceivesThem) {
  const Machine machine = machine_of(2, 2, 1);
  const auto messages = node_messages(machine, letters_of(machine), {}, {});
  EXPECT_EQ(messages.at(0).described(),
            "the message of node 0 to node 1 (rank 0 sends it, with parts of ranks 0 and 1; rank 2 receives it)");
}

}  // namespace
}  // namespace slipstream

#pragma once
// One message for each pair of nodes. Its parts, one per pair of devices, are contiguous in pinned host memory of the
// rank that sends it, and all ranks of the node map this memory. Each device copies or packs its part into it, and the
// device's rank increments a counter. The sending rank passes a chunk to MPI once all pieces in the chunk are written.
// The receiving rank receives into memory that its node maps too, and sets the chunk's counter. Each device then reads
// its part, and its rank frees it.
#include <map>
#include <memory>
#include <vector>

#include <slipstream/arena.hpp>

#include "mover/route_state.hpp"
#include "node/mail.hpp"
#include "node/node_message.hpp"

namespace slipstream {

/// State machines that send and receive a message between nodes, on the two ranks that call MPI for it.
class NodeDispatch;
class NodeArrival;

class NodeMail final : public Mail {
 public:
  /// If some rank cannot share host memory with its node, no message is joined with others. Collective.
  explicit NodeMail(const RouteSetup& setup);
  ~NodeMail() override;

  bool carries(const Message& message) const override;
  PlaceRing outgoing_place(const Message& message) const override;
  PlaceRing incoming_places(const Message& message) const override;
  std::unique_ptr<Outlet> outlet(const Message& message) override;
  std::unique_ptr<Inlet> inlet(const Message& message) override;

  bool progress(std::uint64_t sequence) override;
  std::string waiting_for() const override;
  std::string remark(int source, int target) const override;
  void leave() override;
  void keep_memory() override;

 private:
  /// A message between nodes and the offsets of its buffers in the memory of the ranks that call MPI for it.
  struct Carried {
    NodeMessage message;
    std::size_t outbox = 0, inbox = 0;
  };
  struct Found {
    const Carried* carried;
    int part;
  };
  std::size_t place_boxes();
  void keep_own();
  void meet_drivers(const RouteSetup& setup);
  void share(const RouteSetup& setup, std::size_t bytes);
  void make_drivers(const RouteSetup& setup);
  Found find(const Message& message) const;
  std::byte* memory_of(int rank) const;

  std::vector<Carried> messages_;                                       // messages in which this rank has a part
  std::map<std::pair<int, int>, std::pair<std::size_t, int>> part_of_;  // message and part index, by pair of devices
  std::string refusal_;
  int rank_ = 0;
  Span<std::byte> memory_;
  std::map<int, std::shared_ptr<void>> mapped_;  // memory of other ranks of the node, mapped by this process
  std::vector<std::unique_ptr<NodeDispatch>> dispatches_;
  std::vector<std::unique_ptr<NodeArrival>> arrivals_;
};

}  // namespace slipstream

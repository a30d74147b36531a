#pragma once
// Messages between nodes that travel as one for each pair of nodes. The parts of a message lie side by side in pinned
// host memory of the rank that sends it, which the node's other ranks map: each device copies its part there, or packs
// straight into it, and its rank raises a counter beside it. The sending rank gives a chunk to MPI as soon as all that
// belongs into it has come. The receiving rank lets it arrive in memory that its node maps too and raises the chunk's
// counter; each device takes its part from there, and its rank says when it is done with it.
#include <map>
#include <memory>
#include <vector>

#include <slipstream/arena.hpp>

#include "route/mail.hpp"
#include "route/node_message.hpp"
#include "route/route.hpp"

namespace slipstream {

/// The two ends' drivers of one message between nodes, on the ranks that send and receive it.
class NodeDispatch;
class NodeArrival;

class NodeMail final : public Mail {
 public:
  /// Collective. Where some rank cannot share host memory with its node, no message is carried, on any rank alike.
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
  void part() override;
  void keep_memory() override;

 private:
  /// A message with the places of its boxes in the memory of the ranks that drive it.
  struct Carried {
    NodeMessage message;
    std::size_t outbox = 0, inbox = 0;
  };
  struct Found {
    const Carried* carried;
    int part;
  };
  std::size_t place_boxes();
  void share(const RouteSetup& setup, std::size_t bytes);
  void make_drivers(const RouteSetup& setup);
  Found find(const Message& message) const;
  std::byte* memory_of(int rank) const;

  std::vector<Carried> messages_;
  std::map<std::pair<int, int>, std::pair<std::size_t, int>> part_of_;  // by devices: message and its part
  std::string refusal_;
  int rank_ = 0;
  Span<std::byte> memory_;
  std::map<int, std::shared_ptr<void>> mapped_;  // of other ranks
  std::vector<std::unique_ptr<NodeDispatch>> dispatches_;
  std::vector<std::unique_ptr<NodeArrival>> arrivals_;
};

}  // namespace slipstream

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <slipstream/arena.hpp>
#include <slipstream/error.hpp>

#include "device/kept_memory.hpp"
#include "machine/agree.hpp"
#include "machine/records.hpp"
#include "machine/rendezvous.hpp"
#include "node/node_drivers.hpp"

namespace slipstream {
namespace {

constexpr std::size_t page = 4096;

class NodeOutlet final : public Outlet {
 public:
  NodeOutlet(const NodeMessage& message, const NodeOutbox& box, int part)
      : message_(message),
        sent_(box.sent()),
        full_(box.full(part)),
        pieces_(static_cast<std::uint64_t>(message.parts[static_cast<std::size_t>(part)].pieces.count())) {}
  bool room(std::uint64_t sequence) override { return load_acquire(sent_) + 1 >= sequence; }
  void send(int piece, std::uint64_t sequence) override {
    store_release(full_, (sequence - 1) * pieces_ + static_cast<std::uint64_t>(piece) + 1);
  }
  std::string escort() const override { return message_.described(); }

 private:
  const NodeMessage& message_;
  Signal *sent_, *full_;
  std::uint64_t pieces_;
};

class NodeInlet final : public Inlet {
 public:
  NodeInlet(const NodeMessage& node_message, const NodeInbox& box, int part, const Message& message)
      : node_message_(node_message),
        part_(node_message.parts[static_cast<std::size_t>(part)]),
        box_(box),
        free_(box.free(part)),
        message_(message) {}
  void open(std::uint64_t sequence) override { store_release(free_, sequence); }
  bool early() const override { return true; }

  int arrived(std::uint64_t sequence) override {
    if (sequence_ != sequence) {
      sequence_ = sequence;
      next_ = part_.first_chunk;
      verified_ = false;
    }
    while (next_ <= part_.last_chunk && lies_there(next_)) ++next_;
    if (!verified_ && lies_there(0)) {
      verify(message_, *reinterpret_cast<const Envelope*>(box_.places().of(sequence)), sequence);
      verified_ = true;
    }
    // Chunks may arrive before the first one, which has the message header. Until the header is verified, the last
    // piece of the values does not count as arrived, so that unpacking cannot complete.
    const int pieces = node_message_.pieces_within(next_, part_);
    return verified_ ? pieces : std::min(pieces, std::max(0, part_.pieces.count() - 1));
  }
  std::string escort() const override { return node_message_.described(); }

 private:
  bool lies_there(int chunk) const { return load_acquire(box_.full(chunk)) >= sequence_; }
  const NodeMessage& node_message_;
  const NodeMessage::Part& part_;
  NodeInbox box_;
  Signal* free_;
  Message message_;
  std::uint64_t sequence_ = 0;
  int next_ = 0;  // index of the first chunk with values of this device's message that has not arrived
  bool verified_ = false;
};

/// Lists messages that leave or reach the node of this rank, by source, then target. Collective.
std::vector<RouteSetup::Letter> letters_of_node(const RouteSetup& setup, int rank) {
  std::map<int, std::string> told;
  if (const std::vector<int> mine = setup.machine.devices_of_rank(rank); !mine.empty()) {
    std::string text;
    for (const RouteSetup::Letter& letter : setup.letters)
      if (setup.machine.device(letter.source).node != setup.machine.device(letter.target).node)
        append_record(text, letter);
    if (!text.empty())
      for (const int device : setup.machine.devices_of_node(setup.machine.device(mine.front()).node))
        told[setup.machine.device(device).rank] = text;
  }
  std::vector<RouteSetup::Letter> letters;
  for (const auto& [from, text] : rendezvous(*setup.own, std::move(told), setup.timeout)) read_records(text, letters);
  std::sort(letters.begin(), letters.end());
  return letters;
}

/// One message for each pair of nodes. Its parts, one per pair of devices, are contiguous in pinned host memory of the
/// rank that sends it, and all ranks of the node map this memory. Each device copies or packs its part into it, and the
/// device's rank increments a counter. The sending rank passes a chunk to MPI once all pieces in the chunk are written.
/// The receiving rank receives into memory that its node maps too, and sets the chunk's counter. Each device then reads
/// its part, and its rank frees it.
class NodeMail final : public Mail {
 public:
  /// If some rank cannot share host memory with its node, no message is joined with others. Collective.
  explicit NodeMail(const RouteSetup& setup) : rank_(setup.comm.rank()) {
    for (NodeMessage& message :
         node_messages(setup.machine, letters_of_node(setup, rank_), setup.knobs, setup.throttle))
      messages_.push_back({std::move(message)});
    const std::size_t bytes = place_boxes();
    keep_own();
    meet_drivers(setup);
    for (const Carried& c : messages_)
      for (const NodeMessage::Part& part : c.message.parts)
        parts_of_[{part.source, part.target}] = {&c, static_cast<int>(&part - c.message.parts.data())};
    share(setup, bytes);
    if (refusal_.empty()) make_drivers(setup);
  }

  bool carries(const Message& message) const override {
    return refusal_.empty() && parts_of_.contains({message.source, message.target});
  }

  PlaceRing outgoing_place(const Message& message) const override {
    const auto [c, part] = parts_of_.at({message.source, message.target});
    const NodeOutbox box(c->message, memory_of(c->message.sender) + c->outbox);
    return {box.place() + c->message.parts[static_cast<std::size_t>(part)].offset};
  }

  PlaceRing incoming_places(const Message& message) const override {
    const auto [c, part] = parts_of_.at({message.source, message.target});
    PlaceRing places = NodeInbox(c->message, memory_of(c->message.receiver) + c->inbox).places();
    places.base += c->message.parts[static_cast<std::size_t>(part)].offset;
    return places;
  }

  std::unique_ptr<Outlet> outlet(const Message& message) override {
    const auto [c, part] = parts_of_.at({message.source, message.target});
    return std::make_unique<NodeOutlet>(c->message, NodeOutbox(c->message, memory_of(c->message.sender) + c->outbox),
                                        part);
  }

  std::unique_ptr<Inlet> inlet(const Message& message) override {
    const auto [c, part] = parts_of_.at({message.source, message.target});
    return std::make_unique<NodeInlet>(c->message, NodeInbox(c->message, memory_of(c->message.receiver) + c->inbox),
                                       part, message);
  }

  bool progress(std::uint64_t sequence) override {
    bool done = true;
    for (const auto& arrival : arrivals_) done &= arrival->progress(sequence);
    for (const auto& dispatch : dispatches_) done &= dispatch->progress(sequence);
    return done;
  }

  std::string waiting_for() const override {
    for (const auto& dispatch : dispatches_)
      if (auto what = dispatch->waiting_for(); !what.empty()) return what;
    for (const auto& arrival : arrivals_)
      if (auto what = arrival->waiting_for(); !what.empty()) return what;
    return {};
  }

  std::string remark(int source, int target) const override {
    const auto found = parts_of_.find({source, target});
    if (found == parts_of_.end()) return {};
    if (!refusal_.empty())
      return "not in one message per pair of nodes, whose ranks must share host memory: " + refusal_;
    return "travels in " + found->second.carried->message.described();
  }

  void leave() override {
    bool quiet = true;
    for (const auto& dispatch : dispatches_) quiet &= dispatch->settle();
    for (const auto& arrival : arrivals_) quiet &= arrival->settle();
    if (!quiet) keep_memory();
    dispatches_.clear();
    arrivals_.clear();
    mapped_.clear();
  }

  void keep_memory() override { keep_for_ever(std::move(memory_)); }

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
  /// Assigns offsets to the buffers of each message of the node, in the memory of the rank that sends or receives it.
  /// Returns the bytes of this rank's memory.
  std::size_t place_boxes() {
    std::map<int, std::size_t> bytes;
    const auto place = [&](int rank, std::size_t box) {
      const std::size_t at = bytes[rank];
      bytes[rank] += round_up(box, page);
      return at;
    };
    for (Carried& c : messages_) {
      c.outbox = place(c.message.sender, NodeOutbox::bytes(c.message));
      c.inbox = place(c.message.receiver, NodeInbox::bytes(c.message));
    }
    return bytes[rank_];
  }

  void keep_own() {
    std::erase_if(messages_, [&](const Carried& c) {
      return std::none_of(c.message.parts.begin(), c.message.parts.end(), [&](const NodeMessage::Part& part) {
        return part.source_rank == rank_ || part.target_rank == rank_;
      });
    });
  }

  /// Exchanges the numbers of driving ranks, which call MPI for a message. Each is chosen among all messages of its
  /// node, which the other node does not know. So the driver tells the ranks of the other node. Collective.
  void meet_drivers(const RouteSetup& setup) {
    struct Driver {
      int from, to, rank;
    };
    std::map<int, std::set<std::pair<int, int>>> ends;  // messages that this rank drives, by rank at the other end
    for (const Carried& c : messages_)
      for (const NodeMessage::Part& part : c.message.parts) {
        if (c.message.sender == rank_) ends[part.target_rank].insert({c.message.from, c.message.to});
        if (c.message.receiver == rank_) ends[part.source_rank].insert({c.message.from, c.message.to});
      }
    std::map<int, std::string> told;
    for (const auto& [rank, messages] : ends)
      for (const auto& [from, to] : messages) append_record(told[rank], Driver{from, to, rank_});
    const std::vector<int> mine = setup.machine.devices_of_rank(rank_);
    for (const auto& [rank, text] : rendezvous(*setup.own, std::move(told), setup.timeout))
      for (const Driver& driver : records_of<Driver>({text}))
        for (Carried& c : messages_)
          if (c.message.from == driver.from && c.message.to == driver.to)
            (setup.machine.device(mine.front()).node == driver.from ? c.message.receiver : c.message.sender) =
                driver.rank;
  }

  /// Shares host memory on a node for its messages. A rank that calls MPI for a message exports its memory. The ranks
  /// of its node that send or receive values of the message map it.
  void share(const RouteSetup& setup, std::size_t bytes) {
    const std::vector<int> mine = setup.machine.devices_of_rank(rank_);
    const Device device = mine.empty() ? Device{} : setup.machine.device(mine.front()).local;
    std::map<int, std::string> offered;
    const Problem unshared = failure_of([&] {
      if (!bytes) return;
      memory_ = setup.comm.arena(device).take<std::byte>(bytes, Memory::pinned_shared);
      std::string text;
      append_record(text, export_memory(device, memory_.data()));
      for (const Carried& c : messages_)
        for (const NodeMessage::Part& part : c.message.parts) {
          if (c.message.sender == rank_ && part.source_rank != rank_) offered[part.source_rank] = text;
          if (c.message.receiver == rank_ && part.target_rank != rank_) offered[part.target_rank] = text;
        }
    });
    refusal_ = text_of(first_failure(setup.comm, unshared));
    if (refusal_.empty()) {
      const std::map<int, std::string> handles = rendezvous(*setup.own, std::move(offered), setup.timeout);
      const Problem unmapped = failure_of([&] {
        for (const auto& [driver, text] : handles)
          mapped_[driver] = import_memory(device, records_of<MemoryHandle>({text}).at(0));
      });
      refusal_ = text_of(first_failure(setup.comm, unmapped));
    }
    if (refusal_.empty()) return;
    mapped_.clear();
    setup.comm.barrier();  // memory must not be freed before all ranks have unmapped it
    memory_ = {};
  }

  void make_drivers(const RouteSetup& setup) {
    int chunks = 0;
    for (const Carried& c : messages_) chunks = std::max(chunks, c.message.chunks.count());
    const int tag = setup.own->take_tags(static_cast<int>(setup.comm.max(chunks)));
    const NodeAddress address{setup.own->mpi(), tag, setup.plan};
    for (const Carried& c : messages_) {
      if (c.message.sender == rank_)
        dispatches_.push_back(
            std::make_unique<NodeDispatch>(c.message, NodeOutbox(c.message, memory_.data() + c.outbox), address));
      if (c.message.receiver == rank_)
        arrivals_.push_back(
            std::make_unique<NodeArrival>(c.message, NodeInbox(c.message, memory_.data() + c.inbox), address));
    }
  }

  std::byte* memory_of(int rank) const {
    return rank == rank_ ? memory_.data() : static_cast<std::byte*>(mapped_.at(rank).get());
  }

  std::vector<Carried> messages_;                  // messages in which this rank has a part
  std::map<std::pair<int, int>, Found> parts_of_;  // by device pair: message between nodes, and index of part in it
  std::string refusal_;
  int rank_ = 0;
  Span<std::byte> memory_;
  std::map<int, std::shared_ptr<void>> mapped_;  // memory of other ranks of the node, mapped by this process
  std::vector<std::unique_ptr<NodeDispatch>> dispatches_;
  std::vector<std::unique_ptr<NodeArrival>> arrivals_;
};

}  // namespace

std::shared_ptr<RouteState> node_mail(const RouteSetup& setup) { return std::make_shared<NodeMail>(setup); }

}  // namespace slipstream

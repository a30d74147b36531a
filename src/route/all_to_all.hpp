#pragma once
// Messages of a route that travel in one MPI call for all ranks: MPI_Alltoallv, MPI_Ialltoallv, or MPI_Put between
// fences or under locks. Outgoing messages are contiguous in one buffer, ordered by their target ranks. Incoming
// messages are contiguous in a second buffer, ordered by their source ranks. Both are pinned host memory for `staged`
// and device memory for `gpu_mpi`. The call starts when all messages of this rank are packed and all their receive
// buffers are free.
//
// All ranks pass two nonblocking barriers before a blocking call. If some ranks have timed out, the second barrier
// never completes. A late rank therefore times out too, instead of blocking for ever.
//
// Both buffers are spans of the arena. A window also uses such a span, since MPI_Win_create takes any memory.
//
// The messages have no envelopes. Calls match by their order on a communicator of this exchange. A rank in another
// exchange, or in none, therefore only delays the others.
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <slipstream/arena.hpp>

#include "machine/gpu_mpi.hpp"
#include "machine/private_communicator.hpp"
#include "node/mail.hpp"

namespace slipstream {

class AllToAll final : public Mail {
 public:
  /// Allocates the buffers of all messages. `staged`: those within a rank travel by other means. Collective.
  AllToAll(const RouteSetup& setup, bool staged);
  ~AllToAll() override;
  AllToAll(const AllToAll&) = delete;
  AllToAll& operator=(const AllToAll&) = delete;

  bool carries(const Message& message) const override { return offsets_.contains({message.source, message.target}); }
  PlaceRing outgoing_place(const Message& message) const override;
  PlaceRing incoming_places(const Message& message) const override;
  std::unique_ptr<Outlet> outlet(const Message& message) override;
  std::unique_ptr<Inlet> inlet(const Message& message) override;

  bool progress(std::uint64_t sequence) override;
  void ending(std::uint64_t sequence) override { ending_ = sequence; }
  std::string waiting_for() const override;
  std::string remark(int source, int target) const override;
  void leave() override;
  void keep_memory() override;

  // Called by a sender when it has packed its message; opened(): by a receiver, when its buffer is free.
  void packed() { ++packed_; }
  void opened() { ++opened_; }
  bool over(std::uint64_t sequence) const { return done_ >= sequence; }

 private:
  enum class Phase : std::uint8_t { gathering, meeting, agreeing, calling, leaving };
  /// All messages between this rank and another one. `units`: size of the messages that this rank sends. `outgoing`,
  /// `incoming`: offsets in bytes.
  struct Block {
    int rank = 0;  ///< number of the other rank in `comm_`
    std::int64_t units = 0, outgoing = 0, incoming = 0;
    std::int64_t there = 0, whole = 0;  ///< offset in the other rank's receive buffer, and bytes of one of its buffers
  };
  void find_members(const RouteSetup& setup, bool staged);
  void lay_out(const RouteSetup& setup, bool staged);
  void tell_offsets(const RouteSetup& setup);
  void allocate(const RouteSetup& setup, bool staged);
  bool blocks() const { return calls_ != MpiCalls::ialltoallv; }
  void meet();
  bool answered();
  void call();
  void put();
  bool all_are_clean();

  MpiCalls calls_;
  int rank_ = 0;
  int depth_ = 2;  // number of receive buffers, which are used in turn
  std::vector<int> members_;
  // offsets of a message in the send and the receive buffer in bytes, by source and target device
  std::map<std::pair<int, int>, std::pair<std::int64_t, std::int64_t>> offsets_;
  std::vector<Block> blocks_;  // blocks of messages, in the order of ranks
  std::vector<int> counts_out_, counts_in_, at_out_, at_in_;
  std::int64_t bytes_out_ = 0, bytes_in_ = 0;
  int sends_ = 0, receives_ = 0;  // number of messages that this rank sends and receives
  Span<std::byte> out_, in_;
  MPI_Comm comm_ = MPI_COMM_NULL;  // communicator of this object alone, because calls match by their order
  PrivateCommunicator farewell_;
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  Phase phase_ = Phase::gathering;
  std::uint64_t sequence_ = 0, ending_ = 0, done_ = 0;
  int packed_ = 0, opened_ = 0;
  bool dirty_ = false;      // whether an MPI call is still pending
  bool abandoned_ = false;  // whether some rank did not take part in the teardown
};

/// Tests an MPI call for all ranks on device memory. Returns why it does not work, the same text on all ranks; empty if
/// small and large messages arrived intact. The test is needed because a library with support for device memory may
/// still corrupt data or crash in windows. Collective; cached per communicator.
std::string proof_of_calls(const RouteSetup& setup);
/// Tests the MPI calls as proof_of_calls() does, without the cache.
std::string try_calls(const RouteSetup& setup, Liar liar = nullptr);

/// AllToAll of a route; null if the knobs select point-to-point sends, or if no message leaves its rank. Collective.
std::shared_ptr<RouteState> all_to_all_mail(const RouteSetup& setup, bool staged);

}  // namespace slipstream

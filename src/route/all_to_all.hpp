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
#include "node/transport.hpp"

namespace slipstream {

class AllToAll final : public Mail {
 public:
  /// Collective. `staged`: messages within a rank travel by other means.
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

  // Called by an end when it has packed its message.
  void packed() { ++packed_; }
  void opened() { ++opened_; }
  bool over(std::uint64_t sequence) const { return done_ >= sequence; }

 private:
  enum class Phase : std::uint8_t { gathering, meeting, agreeing, calling, leaving };
  /// Place of this rank's messages in another rank's window, in bytes, and the size of one of the window's buffers.
  struct PeerBuffer {
    std::int64_t at = 0, bytes = 0;
  };
  void find_members(const RouteSetup& setup, bool staged);
  void lay_out(const RouteSetup& setup, bool staged);
  void tell_offsets(const RouteSetup& setup);
  void allocate(const RouteSetup& setup, bool staged);
  /// Number of a rank in comm_; that of members_ if it is none of them.
  std::size_t place_of(int rank) const;
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
  // blocks of messages by rank: their sizes, and offsets in the two buffers, in units
  std::vector<int> counts_out_, counts_in_, at_out_, at_in_;
  std::vector<PeerBuffer> peers_;
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
  bool dirty_ = false;      // whether a call has not completed
  bool abandoned_ = false;  // whether some rank did not take part in the teardown
};

/// Tests the call on device memory. Returns why it does not work, the same text on all ranks; empty if small and large
/// messages arrived intact. The test is needed because a library with support for device memory may still corrupt data
/// or crash in windows. Collective; cached per communicator.
std::string proof_of_calls(const RouteSetup& setup);
/// Tests the calls as above, without the cache.
std::string try_calls(const RouteSetup& setup, Liar liar = nullptr);

/// Null if the knobs select point-to-point sends, or if no message of the route leaves its rank. Collective.
std::shared_ptr<RouteState> all_to_all_mail(const RouteSetup& setup, bool staged);

}  // namespace slipstream

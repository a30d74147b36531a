#pragma once
// Messages that travel in one call of MPI for all ranks: MPI_Alltoallv, MPI_Ialltoallv, or MPI_Put between fences or
// under locks. What a rank sends lies side by side in one buffer, by the ranks that it goes to, and what it receives in
// another, by those that it comes from: pinned host memory of `staged`, the device's of `gpu_mpi`. The call is made
// when all of this rank's messages have been packed and the places of all that arrive are free.
//
// What blocks is called when all ranks have said twice, without blocking, that they are about to: one that comes late
// finds that those who gave up have not said so again, and gives up in its turn.
//
// Both buffers are spans of the arena, windows too: MPI opens one over any memory, and every rank its own.
//
// No envelopes: calls are matched by their order on a communicator of this exchange's own, so that a rank which is in
// another exchange, or in none, only keeps the others waiting.
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <slipstream/arena.hpp>

#include "machine/gpu_mpi.hpp"
#include "route/mail.hpp"

namespace slipstream {

class AllToAll final : public Mail {
 public:
  /// Collective. `staged`: messages within a rank are not carried.
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
  void part() override;
  void keep_memory() override;

  // For the ends of messages.
  void packed() { ++packed_; }
  void opened() { ++opened_; }
  bool over(std::uint64_t sequence) const { return done_ >= sequence; }

 private:
  enum class Phase : std::uint8_t { gathering, meeting, agreeing, calling, leaving };
  /// What goes from one rank to another, in units.
  struct Block {
    int rank = 0;  ///< of the other, in the communicator of those that take part
    std::int64_t units = 0, outgoing = 0, incoming = 0;
    std::int64_t there = 0, whole = 0;  ///< in the other's place, and bytes of that
  };
  void lay_out(const RouteSetup& setup, bool staged);
  void allocate(const RouteSetup& setup, bool staged);
  bool blocks() const { return calls_ != MpiCalls::ialltoallv; }
  void meet();
  bool answered();
  void call();
  void put();
  bool all_are_clean() noexcept;

  MpiCalls calls_;
  int rank_ = 0;
  int depth_ = 2;  // places in turn for what arrives
  std::vector<int> members_;
  std::map<std::pair<int, int>, std::pair<std::int64_t, std::int64_t>> offsets_;  // in bytes: here sent, here received
  std::vector<Block> blocks_;                                                     // by the other's rank
  std::vector<int> counts_out_, counts_in_, at_out_, at_in_;
  std::int64_t bytes_out_ = 0, bytes_in_ = 0;
  int sends_ = 0, receives_ = 0;  // messages of this rank
  Span<std::byte> out_, in_;
  MPI_Comm comm_ = MPI_COMM_NULL, farewell_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  Phase phase_ = Phase::gathering;
  std::uint64_t sequence_ = 0, ending_ = 0, done_ = 0;
  int packed_ = 0, opened_ = 0;
  bool dirty_ = false;      // a call is still under way
  bool abandoned_ = false;  // other ranks did not part
};

/// Why calls for all ranks do not bring device memory to where it must go, the same on all ranks; empty where small and
/// large messages arrived as they were sent. Libraries that move messages between devices may still move wrong bytes,
/// or crash, in windows. Collective; asked once for a communicator.
std::string proof_of_calls(const RouteSetup& setup);
/// The proof itself, never remembered.
std::string try_calls(const RouteSetup& setup, Liar liar = nullptr);

/// Null where the knobs want sends, or nothing of the route leaves its rank. Collective.
std::shared_ptr<RouteState> all_to_all_mail(const RouteSetup& setup, bool staged);

}  // namespace slipstream

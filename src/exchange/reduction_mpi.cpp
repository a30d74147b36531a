// An all-reduce through pinned memory and messages: every rank sends its devices' values to every other, and every
// device folds them all.
#include <cstring>

#include <slipstream/arena.hpp>
#include <slipstream/error.hpp>

#include "device/kept_memory.hpp"
#include "exchange/reduction.hpp"
#include "machine/agree.hpp"
#include "machine/parting.hpp"
#include "machine/patience.hpp"

namespace slipstream {
namespace {

class MpiReduction final : public Reduction {
 public:
  MpiReduction(const Communicator& comm, const ReduceTeam& team)
      : team_(team), bytes_(team.fold.values * size_of(team.fold.type)), parting_(comm, "an all-reduce") {
    on_all_ranks(comm, [&] {
      const std::size_t all = static_cast<std::size_t>(team.fold.devices) * bytes_;
      const Arena first = comm.arena(team.local(team.devices.front()));
      gathered_ = first.take<std::byte>(all, Memory::pinned);
      mine_ = first.take<std::byte>(team.devices.size() * bytes_, Memory::pinned);
      for (const int device : team_.devices) scratch_.push_back(comm.arena(team_.local(device)).take<std::byte>(all));
    });
    try {
      for (int other = 0; other < comm.size(); ++other)
        if (other != team_.rank) make_requests(other);
    } catch (...) {
      free_requests();
      throw;
    }
  }

  ~MpiReduction() override {
    free_requests();
    for (const int device : team_.devices) {
      try {
        synchronize(team_.local(device));
      } catch (const Error&) {
        // A destructor has nobody to tell; the same error was thrown where the stream was used.
      }
    }
    if (broken_.empty()) return;
    // What was cancelled may have been under way.
    keep_for_ever(std::move(gathered_));
    keep_for_ever(std::move(mine_));
  }

  void run(std::vector<Stream>& streams, const std::vector<void*>& values) override {
    ++number_;
    for (std::size_t i = 0; i < streams.size(); ++i) copy(streams[i], mine_.data() + i * bytes_, values[i], bytes_);
    for (Stream& stream : streams) stream.synchronize();
    // Not copied there by the streams: one of them may still read what the last run gathered.
    std::memcpy(row(team_.devices.front()), mine_.data(), mine_.bytes());
    start();
    finish();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      copy(streams[i], scratch_[i].data(), gathered_.data(), gathered_.bytes());
      launch_fold(streams[i], team_.fold, scratch_[i].data(), values[i]);
    }
  }

  void check() const override {
    if (!broken_.empty()) throw Timeout(broken_);
  }

 private:
  struct Request {
    MPI_Request mpi = MPI_REQUEST_NULL;
    int rank = 0;
    bool receives = false;
    bool done = true;
  };

  std::byte* row(int device) const { return gathered_.data() + device * bytes_; }

  void make_requests(int other) {
    constexpr int tag = 0;
    const auto theirs = team_.machine.devices_of_rank(other);
    const int incoming = static_cast<int>(theirs.size() * bytes_);
    requests_.push_back({MPI_REQUEST_NULL, other, true, true});
    check_mpi(MPI_Recv_init(row(theirs.front()), incoming, MPI_BYTE, other, tag, parting_.mpi(), &requests_.back().mpi),
              "prepare to receive an all-reduce");
    requests_.push_back({MPI_REQUEST_NULL, other, false, true});
    check_mpi(MPI_Send_init(mine_.data(), static_cast<int>(mine_.bytes()), MPI_BYTE, other, tag, parting_.mpi(),
                            &requests_.back().mpi),
              "prepare to send an all-reduce");
  }

  void free_requests() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized) return;
    for (Request& request : requests_) {
      if (request.mpi == MPI_REQUEST_NULL) continue;
      if (!request.done && request.receives) MPI_Cancel(&request.mpi);
      MPI_Request_free(&request.mpi);
    }
  }

  void start() {
    for (const bool receives : {true, false})
      for (Request& request : requests_) {
        if (request.receives != receives) continue;
        check_mpi(MPI_Start(&request.mpi), "start an all-reduce");
        request.done = false;
      }
  }

  bool progress() {
    bool all = true;
    for (Request& request : requests_) {
      if (request.done) continue;
      int done = 0;
      check_mpi(MPI_Test(&request.mpi, &done, MPI_STATUS_IGNORE), "finish an all-reduce");
      request.done = done != 0;
      all &= request.done;
    }
    return all;
  }

  void finish() {
    if (!asked_until([this] { return progress(); }, team_.wait_limit)) give_up();
  }

  [[noreturn]] void give_up() {
    for (const Request& request : requests_) {
      if (request.done) continue;
      broken_ = team_.missed(number_, "rank " + std::to_string(team_.rank),
                             team_.name(team_.machine.devices_of_rank(request.rank).front()), team_.wait_limit);
      break;
    }
    throw Timeout(broken_);
  }

  ReduceTeam team_;
  std::size_t bytes_;         // of one device's values
  Span<std::byte> gathered_;  // by device
  Span<std::byte> mine_;      // of this rank's devices
  std::vector<Span<std::byte>> scratch_;
  Parting parting_;
  std::vector<Request> requests_;
  std::uint64_t number_ = 0;
  std::string broken_;
};

}  // namespace

std::unique_ptr<Reduction> mpi_reduction(const Communicator& comm, const ReduceTeam& team) {
  return std::make_unique<MpiReduction>(comm, team);
}

}  // namespace slipstream

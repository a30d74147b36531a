// All-reduce through pinned memory and MPI messages. Each rank sends the values of its devices to all others, and each
// device reduces all values.
#include <cstring>

#include <slipstream/arena.hpp>
#include <slipstream/error.hpp>

#include "collective/reduction.hpp"
#include "device/kept_memory.hpp"
#include "device/wait_quietly.hpp"
#include "machine/agree.hpp"
#include "machine/private_communicator.hpp"
#include "machine/timeout.hpp"
#include "node/requests.hpp"

namespace slipstream {
namespace {

class MpiReduction final : public Reduction {
 public:
  MpiReduction(const Communicator& comm, const ReduceTeam& team)
      : team_(team), bytes_(team.fold.values * size_of(team.fold.type)), own_(comm, "an all-reduce") {
    on_all_ranks(comm, [&] {
      const std::size_t all = static_cast<std::size_t>(team.fold.devices) * bytes_;
      const Arena first = comm.arena(team.local(team.devices.front()));
      gathered_ = first.take<std::byte>(all, Memory::pinned);
      mine_ = first.take<std::byte>(message_bytes(team_.rank), Memory::pinned);
      for (const int device : team_.devices) scratch_.push_back(comm.arena(team_.local(device)).take<std::byte>(all));
      for (int other = 0; other < comm.size(); ++other)
        if (other != team_.rank) add_letter(other, first);
    });
  }

  ~MpiReduction() override {
    if (!requests_.settle()) {
      keep_for_ever(std::move(mine_));
      for (Letter& letter : letters_) keep_for_ever(std::move(letter.place));
    }
    for (const int device : team_.devices) wait_quietly(team_.local(device));
  }

  void run(std::vector<Stream>& streams, const std::vector<void*>& values) override {
    ++number_;
    std::byte* const first = mine_.data() + sizeof number_;
    for (std::size_t i = 0; i < streams.size(); ++i) copy(streams[i], first + i * bytes_, values[i], bytes_);
    for (Stream& stream : streams) stream.synchronize();
    std::memcpy(mine_.data(), &number_, sizeof number_);
    // The host copies, because streams may still read gathered_, the values of all devices, for the last all-reduce.
    std::memcpy(row(team_.devices.front()), first, team_.devices.size() * bytes_);
    // All receives start before the sends.
    for (const int first : {0, 1})
      for (std::size_t n = 0; n < letters_.size(); ++n) requests_.start(static_cast<int>(2 * n) + first);
    if (!asked_until([this] { return requests_.all_done(); }, team_.wait_limit)) give_up();
    for (const Letter& letter : letters_) open(letter);
    for (std::size_t i = 0; i < streams.size(); ++i) {
      copy(streams[i], scratch_[i].data(), gathered_.data(), gathered_.bytes());
      launch_fold(streams[i], team_.fold, scratch_[i].data(), values[i]);
    }
  }

  void check() const override {
    if (broken_ && broken_->code() == ErrorCode::timeout) throw Timeout(broken_->what(), broken_->facts());
    throw_if(broken_);
  }

 private:
  /// Message from another rank: the number of the reduction, then the values of its devices.
  struct Letter {
    int rank = 0;
    Span<std::byte> place;
  };

  std::byte* row(int device) const { return gathered_.data() + device * bytes_; }
  std::size_t message_bytes(int rank) const {
    return sizeof number_ + team_.machine.devices_of_rank(rank).size() * bytes_;
  }

  /// Lists the messages from and to a rank. Entry n of letters_ has MPI requests 2 n (receive) and 2 n + 1 (send).
  void add_letter(int other, const Arena& arena) {
    Letter& letter = letters_.emplace_back();
    letter.rank = other;
    letter.place = arena.take<std::byte>(message_bytes(other), Memory::pinned);
    requests_.add_receive(letter.place.data(), letter.place.bytes(), other, tag_, own_.mpi());
    requests_.add_send(mine_.data(), mine_.bytes(), other, tag_, own_.mpi());
  }

  /// Unpacks a message. It detects that a rank continued after a run that failed on another rank. Otherwise ranks would
  /// combine values of different runs.
  void open(const Letter& letter) {
    std::uint64_t number = 0;
    std::memcpy(&number, letter.place.data(), sizeof number);
    const std::vector<int> theirs = team_.machine.devices_of_rank(letter.rank);
    if (number != number_) {
      broken_ = Error(ErrorCode::mismatch,
                      "all-reduce " + std::to_string(number_) + ": rank " + std::to_string(letter.rank) +
                          " sent values of its all-reduce " + std::to_string(number) + " to rank " +
                          std::to_string(team_.rank) +
                          ": all ranks must call run equally often, also after an error on one of them",
                      {{"rank", letter.rank}, {"sequence", number_}, {"given", number}});
      throw Error(*broken_);
    }
    std::memcpy(row(theirs.front()), letter.place.data() + sizeof number, theirs.size() * bytes_);
  }

  [[noreturn]] void give_up() {
    std::size_t open = 0;
    while (open + 1 < 2 * letters_.size() && requests_.done(static_cast<int>(open))) ++open;
    const int first = team_.machine.devices_of_rank(letters_[open / 2].rank).front();
    const Timeout timeout =
        team_.missed(number_, "rank " + std::to_string(team_.rank), team_.name(first), team_.wait_limit);
    broken_ = timeout;
    throw timeout;
  }

  ReduceTeam team_;
  std::size_t bytes_;         // bytes of the values of one device
  Span<std::byte> gathered_;  // values of all devices, in the order of devices
  Span<std::byte> mine_;      // message to others: number of the run, then the values of this rank's devices
  std::vector<Span<std::byte>> scratch_;
  std::vector<Letter> letters_;
  PrivateCommunicator own_;
  const int tag_ = own_.take_tags(1);
  Requests requests_;
  std::uint64_t number_ = 0;
  Problem broken_;
};

}  // namespace

std::unique_ptr<Reduction> mpi_reduction(const Communicator& comm, const ReduceTeam& team) {
  return std::make_unique<MpiReduction>(comm, team);
}

}  // namespace slipstream

#include "machine/rendezvous.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <slipstream/error.hpp>

#include "device/kept_memory.hpp"
#include "machine/agree.hpp"
#include "machine/private_communicator.hpp"
#include "machine/timeout.hpp"

namespace slipstream {
namespace {

/// MPI counts are int, so longer texts are split into pieces.
constexpr std::size_t largest_piece = std::size_t{1} << 30;

class Meeting {
 public:
  Meeting(PrivateCommunicator& own, std::map<int, std::string> outgoing) : outgoing_(std::move(outgoing)), own_(own) {
    MPI_Comm_rank(own.mpi(), &rank);
    MPI_Comm_size(own.mpi(), &size);
    if (auto mine = outgoing_.extract(rank)) received.insert(std::move(mine));
  }

  void start() {
    for (const auto& [rank, text] : outgoing_)
      for (std::size_t at = 0; at < text.size(); at += largest_piece)
        check_mpi(MPI_Issend(text.data() + at, static_cast<int>(std::min(largest_piece, text.size() - at)), MPI_CHAR,
                             rank, 0, own_.mpi(), &sends_.emplace_back(MPI_REQUEST_NULL)),
                  "send to a rank that does not expect it");
  }

  /// Receives messages from other ranks, and tests whether all messages of all ranks have arrived.
  bool progress() {
    int there = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, own_.mpi(), &there, &status), "look for a message");
    if (there) receive(status);
    if (barrier_ == MPI_REQUEST_NULL) {
      int sent = 0;
      check_mpi(MPI_Testall(static_cast<int>(sends_.size()), sends_.data(), &sent, MPI_STATUSES_IGNORE),
                "complete messages");
      if (sent) tell();
      return false;
    }
    int over = 0;
    check_mpi(MPI_Test(&barrier_, &over, MPI_STATUS_IGNORE), "wait for all messages");
    return over != 0;
  }

  /// Maximum of `here` over all ranks; empty if some do not answer in time. Ranks that time out join, too, because
  /// collectives on a communicator match by order.
  std::optional<int> greatest(int here, double seconds) {
    if (barrier_ == MPI_REQUEST_NULL && !told_) tell();
    return own_.greatest(here, seconds);
  }

  std::map<int, std::string> received;
  int rank = 0, size = 1;

 private:
  void tell() {
    told_ = true;
    check_mpi(MPI_Ibarrier(own_.mpi(), &barrier_), "tell that all was sent");
  }

  void receive(const MPI_Status& status) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    std::string& text = received[status.MPI_SOURCE];
    const std::size_t at = text.size();
    text.resize(at + static_cast<std::size_t>(bytes));
    check_mpi(MPI_Recv(text.data() + at, bytes, MPI_CHAR, status.MPI_SOURCE, 0, own_.mpi(), MPI_STATUS_IGNORE),
              "receive a message");
  }

  std::map<int, std::string> outgoing_;
  PrivateCommunicator& own_;
  std::vector<MPI_Request> sends_;
  MPI_Request barrier_ = MPI_REQUEST_NULL;
  bool told_ = false;
};

}  // namespace

std::map<int, std::string> rendezvous(PrivateCommunicator& own, std::map<int, std::string> outgoing, double seconds) {
  auto meeting = std::make_unique<Meeting>(own, std::move(outgoing));
  if (meeting->size == 1) return std::move(meeting->received);
  bool in_time = false;
  const Problem failure = failure_of([&] {
    meeting->start();
    in_time = asked_until([&] { return meeting->progress(); }, seconds);
  });
  const std::optional<int> missed = meeting->greatest(in_time ? 0 : 1, seconds);
  if (missed == 0) return std::move(meeting->received);
  const int rank = meeting->rank;
  own.leave_alone();
  // The texts are never freed: MPI may read unreceived messages at any later time, and a send in progress cannot be
  // cancelled (MPI-4.1, 3.8.4).
  keep_for_ever(std::move(meeting));
  throw_if(failure);
  throw Timeout((in_time ? "another rank than " : "rank ") + std::to_string(rank) + " waited longer than " +
                    std::to_string(seconds) +
                    " s for the other ranks to say what they share with it: have all ranks called this?",
                {{"rank", rank}, {"limit", seconds}});
}

}  // namespace slipstream

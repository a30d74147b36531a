#include "machine/private_communicator.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <slipstream/error.hpp>

#include "device/faults.hpp"
#include "device/kept_memory.hpp"
#include "machine/timeout.hpp"

namespace slipstream {
namespace {

bool ended(MPI_Request request, double seconds) {
  int done = 0;
  asked_until([&] { return MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done; }, seconds);
  return done != 0;
}

bool finalized() {
  int over = 0;
  MPI_Finalized(&over);
  return over != 0;
}

/// The largest tag that MPI takes.
int largest_tag() {
  int* found = nullptr;
  int given = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &found, &given), "tell the largest tag");
  constexpr int least = 32767;  // the largest tag that every MPI library must allow
  return given ? *found : least;
}

}  // namespace

struct PrivateCommunicator::Duplicate {
  Duplicate(const Communicator& comm, const char* what) {
    check_mpi(MPI_Comm_dup(comm.mpi(), &mpi), ("duplicate a communicator for " + std::string(what)).c_str());
  }
  /// Frees the duplicate; collective. A duplicate on which some rank did not answer is kept, because MPI may still use
  /// it.
  ~Duplicate() {
    if (!alone && !finalized()) MPI_Comm_free(&mpi);
  }
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;

  MPI_Comm mpi = MPI_COMM_NULL;
  bool alone = false;  // some rank did not join a call, so later calls no longer match
  int next_tag = 1;
};

class SharedDuplicates {
 public:
  /// Returns the shared duplicate of a communicator. Once most of its tags are taken, a new one is made, and the old
  /// one ends with its last user.
  std::shared_ptr<PrivateCommunicator::Duplicate> of(PrivateCommunicator::Purpose purpose, const Communicator& comm,
                                                     const char* what) {
    auto& place = duplicates_.at(static_cast<std::size_t>(purpose));
    if (!place || place->next_tag > largest_tag() / 2)
      place = std::make_shared<PrivateCommunicator::Duplicate>(comm, what);
    return place;
  }

 private:
  std::array<std::shared_ptr<PrivateCommunicator::Duplicate>, 2> duplicates_;
};

Communicator sharing(const Communicator& comm) {
  Communicator copy = comm;
  if (!copy.shared_) copy.shared_ = std::make_shared<SharedDuplicates>();
  return copy;
}

Communicator unshared(const Communicator& comm) {
  Communicator copy = comm;
  copy.shared_ = nullptr;
  return copy;
}

double PrivateCommunicator::least_timeout() {
  const double of_a_test = faults::seconds_of_teardowns();
  return of_a_test > 0 ? of_a_test : 5;
}

double PrivateCommunicator::timeout(double wait_limit, bool late) {
  return late || std::uncaught_exceptions() > 0 ? least_timeout() : std::max(least_timeout(), wait_limit);
}

PrivateCommunicator::PrivateCommunicator(const Communicator& comm, const char* what, Purpose purpose)
    : duplicate_(comm.shared_ ? comm.shared_->of(purpose, comm, what) : std::make_shared<Duplicate>(comm, what)) {}

MPI_Comm PrivateCommunicator::mpi() const { return duplicate_->mpi; }

int PrivateCommunicator::take_tags(int count) {
  const int first = duplicate_->next_tag, limit = largest_tag();
  require(count <= limit - first, ErrorCode::unsupported,
          "an object needs " + std::to_string(count) + " tags of MPI messages, and MPI has " +
              std::to_string(limit - first) + ": send fewer chunks",
          {{"needed", count}, {"limit", limit - first}});
  duplicate_->next_tag += count;
  return first;
}

std::optional<int> PrivateCommunicator::greatest(int here, double seconds) {
  if (finalized()) return here;
  if (duplicate_->alone) return {};
  auto all = std::make_unique<int>(here);
  MPI_Request request;
  if (MPI_Iallreduce(MPI_IN_PLACE, all.get(), 1, MPI_INT, MPI_MAX, mpi(), &request) == MPI_SUCCESS &&
      ended(request, seconds))
    return *all;
  keep_for_ever(std::move(all));  // never freed: MPI writes to this number when the other ranks join
  leave_alone();
  return {};
}

bool PrivateCommunicator::leave(double seconds) {
  left_ = true;
  if (finalized()) return true;
  if (duplicate_->alone) return false;
  MPI_Request request;
  if (MPI_Ibarrier(mpi(), &request) == MPI_SUCCESS && ended(request, seconds)) return true;
  leave_alone();
  return false;
}

void PrivateCommunicator::leave_alone() { left_ = duplicate_->alone = true; }

PrivateCommunicator::~PrivateCommunicator() {
  if (!left_) leave(least_timeout());
}

}  // namespace slipstream

#include "machine/parting.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "machine/patience.hpp"

namespace slipstream {
namespace {

bool ended(MPI_Request request, double seconds) {
  int done = 0;
  asked_until([&] { return MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done; }, seconds);
  return done != 0;
}

/// Keeps the value until the process ends: MPI writes to it when the other ranks join.
void leave_to_mpi(std::unique_ptr<int> value) {
  static std::mutex mutex;
  static auto& left = *new std::vector<std::unique_ptr<int>>;
  const std::lock_guard lock(mutex);
  left.push_back(std::move(value));
}

bool finalized() {
  int over = 0;
  MPI_Finalized(&over);
  return over != 0;
}

}  // namespace

double Parting::patience(double wait_limit, bool late) {
  return late || std::uncaught_exceptions() > 0 ? least_patience : std::max(least_patience, wait_limit);
}

Parting::Parting(const Communicator& comm, const char* what) {
  check_mpi(MPI_Comm_dup(comm.mpi(), &comm_), ("duplicate a communicator for " + std::string(what)).c_str());
}

std::optional<int> Parting::greatest(int here, double seconds) {
  if (finalized()) return here;
  auto all = std::make_unique<int>(here);
  MPI_Request request;
  if (MPI_Iallreduce(MPI_IN_PLACE, all.get(), 1, MPI_INT, MPI_MAX, comm_, &request) == MPI_SUCCESS &&
      ended(request, seconds))
    return *all;
  leave_to_mpi(std::move(all));
  part_alone();
  return {};
}

bool Parting::part(double seconds) {
  parted_ = true;
  if (finalized()) return true;
  MPI_Request request;
  if (MPI_Ibarrier(comm_, &request) != MPI_SUCCESS || !ended(request, seconds)) return false;
  MPI_Comm_free(&comm_);
  return true;
}

Parting::~Parting() {
  if (!parted_) part(least_patience);
}

}  // namespace slipstream

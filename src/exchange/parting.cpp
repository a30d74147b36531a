#include "exchange/parting.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "machine/patience.hpp"

namespace slipstream {

double Parting::patience(double wait_limit, bool late) {
  return late || std::uncaught_exceptions() > 0 ? least_patience : std::max(least_patience, wait_limit);
}

Parting::Parting(const Communicator& comm, const char* what) {
  check_mpi(MPI_Comm_dup(comm.mpi(), &comm_), ("duplicate a communicator for " + std::string(what)).c_str());
}

bool Parting::part(double seconds) {
  parted_ = true;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return true;
  MPI_Request request;
  if (MPI_Ibarrier(comm_, &request) != MPI_SUCCESS) return false;
  int done = 0;
  asked_until([&] { return MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done; }, seconds);
  if (done) MPI_Comm_free(&comm_);
  return done != 0;
}

Parting::~Parting() {
  if (!parted_) part(least_patience);
}

}  // namespace slipstream

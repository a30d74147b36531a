#include "exchange/parting.hpp"

#include <string>

#include "machine/patience.hpp"

namespace slipstream {

Parting::Parting(const Communicator& comm, const char* what) {
  check_mpi(MPI_Comm_dup(comm.mpi(), &comm_), ("duplicate a communicator for " + std::string(what)).c_str());
}

Parting::~Parting() {
  constexpr double patience = 5;  // seconds
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return;
  MPI_Request request;
  if (MPI_Ibarrier(comm_, &request) != MPI_SUCCESS) return;
  int done = 0;
  asked_until([&] { return MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done; }, patience);
  if (done) MPI_Comm_free(&comm_);
}

}  // namespace slipstream

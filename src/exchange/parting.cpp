#include "exchange/parting.hpp"

#include <chrono>
#include <string>
#include <thread>

namespace slipstream {

Parting::Parting(const Communicator& comm, const char* what) {
  check_mpi(MPI_Comm_dup(comm.mpi(), &comm_), ("duplicate a communicator for " + std::string(what)).c_str());
}

Parting::~Parting() {
  using Clock = std::chrono::steady_clock;
  constexpr auto patience = std::chrono::seconds(5);
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return;
  MPI_Request request;
  int done = 0;
  if (MPI_Ibarrier(comm_, &request) != MPI_SUCCESS) return;
  const auto start = Clock::now();
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done && Clock::now() - start < patience)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  if (done) MPI_Comm_free(&comm_);
}

}  // namespace slipstream

#include "exchange/reduction.hpp"

#include <chrono>
#include <sstream>
#include <thread>

namespace slipstream {

std::string ReduceTeam::name(int device) const {
  return "device " + std::to_string(device) + " on rank " + std::to_string(machine.device(device).rank);
}

std::string ReduceTeam::missed(std::uint64_t number, const std::string& who, const std::string& whom) const {
  std::ostringstream text;
  text << "all-reduce " << number << ": " << who << " waited longer than " << wait_limit << " s for " << whom
       << ": did all ranks call run equally often, and does that one still live?";
  return text.str();
}

Parting::Parting(const Communicator& comm) {
  check_mpi(MPI_Comm_dup(comm.mpi(), &comm_), "duplicate a communicator for an all-reduce");
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

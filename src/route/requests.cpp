#include "route/requests.hpp"

#include <slipstream/communicator.hpp>

namespace slipstream {

Requests::~Requests() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended) return;
  for (MPI_Request& request : requests_) {
    if (request == MPI_REQUEST_NULL) continue;
    int done = 1;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
}

void Requests::add_send(const void* from, std::size_t bytes, int rank, int tag, MPI_Comm comm) {
  MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
  check_mpi(MPI_Send_init(from, static_cast<int>(bytes), MPI_BYTE, rank, tag, comm, &request), "prepare a message");
}

void Requests::add_receive(void* to, std::size_t bytes, int rank, int tag, MPI_Comm comm) {
  MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
  check_mpi(MPI_Recv_init(to, static_cast<int>(bytes), MPI_BYTE, rank, tag, comm, &request),
            "prepare to receive a message");
}

void Requests::start(int index) { check_mpi(MPI_Start(&requests_[index]), "start a message"); }

bool Requests::done(int index) {
  int flag = 0;
  check_mpi(MPI_Test(&requests_[index], &flag, MPI_STATUS_IGNORE), "complete a message");
  return flag != 0;
}

bool Requests::all_done() {
  int flag = 1;
  check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, MPI_STATUSES_IGNORE),
            "complete messages");
  return flag != 0;
}

}  // namespace slipstream

#include "node/requests.hpp"

#include <utility>

#include <slipstream/communicator.hpp>

#include "machine/timeout.hpp"

namespace slipstream {

Requests::~Requests() { settle(); }

bool Requests::settle() {
  if (std::exchange(settled_, true)) return quiet_;
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended) return true;
  const auto over = [](MPI_Request& request) {
    int done = 1;
    return MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done;
  };
  std::vector<MPI_Request*> open;
  for (MPI_Request& request : requests_)
    if (request != MPI_REQUEST_NULL && !over(request)) open.push_back(&request);
  for (MPI_Request* request : open) MPI_Cancel(request);
  constexpr double seconds = 0.05;
  const auto none_open = [&] {
    std::erase_if(open, [&](MPI_Request* request) { return over(*request); });
    return open.empty();
  };
  quiet_ = asked_until(none_open, seconds);
  // Active requests may be freed, too: MPI keeps such a request until it completes.
  for (MPI_Request& request : requests_)
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  return quiet_;
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

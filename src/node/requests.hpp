#pragma once
// Persistent MPI requests, started in every exchange.
#include <mpi.h>

#include <cstddef>
#include <vector>

namespace slipstream {

/// Persistent requests that are started one by one. MPI matches messages in the order in which receives start, and
/// MPI_Startall leaves this order undefined.
class Requests {
 public:
  Requests() = default;
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  /// Cancels incomplete requests by settle(): after a timed-out exchange, a message may never arrive.
  ~Requests();
  /// Cancels incomplete requests and waits briefly. Returns false if MPI may still access the memory of the requests;
  /// then it must stay allocated. MPI-4.1, 3.8.4, does not allow to cancel a large message that both ends have matched,
  /// and it stays active until the other end continues. Later calls do nothing.
  bool settle();
  /// Adds a send or a receive request. Requests are numbered in the order of these calls.
  void add_send(const void* from, std::size_t bytes, int rank, int tag, MPI_Comm comm);
  void add_receive(void* to, std::size_t bytes, int rank, int tag, MPI_Comm comm);
  void start(int index);
  bool done(int index);
  bool all_done();

 private:
  std::vector<MPI_Request> requests_;
  bool settled_ = false, quiet_ = true;
};

}  // namespace slipstream

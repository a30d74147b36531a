#pragma once
// MPI requests that are made once and started for every exchange.
#include <mpi.h>

#include <cstddef>
#include <vector>

namespace slipstream {

/// Persistent requests, started one by one: MPI matches messages in the order in which receives are started, which
/// MPI_Startall leaves open.
class Requests {
 public:
  Requests() = default;
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  /// Where a message never came (its exchange timed out): see settle().
  ~Requests();
  /// Cancels what has not completed, and gives it some time. False where MPI may still read or write the memory that
  /// the requests were made for: a large message that both ends have matched is under way until its other end goes on,
  /// and MPI-4.1, 3.8.4, lets no cancel reach it. That memory must stay then. All of this is done once.
  bool settle();
  /// Each gets the next index.
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

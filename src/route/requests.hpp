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
  /// A message that never came (its exchange timed out) must not arrive in memory that is gone.
  ~Requests();
  /// Each gets the next index.
  void add_send(const void* from, std::size_t bytes, int rank, int tag, MPI_Comm comm);
  void add_receive(void* to, std::size_t bytes, int rank, int tag, MPI_Comm comm);
  void start(int index);
  bool done(int index);
  bool all_done();

 private:
  std::vector<MPI_Request> requests_;
};

}  // namespace slipstream

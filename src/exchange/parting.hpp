#pragma once
#include <slipstream/communicator.hpp>

namespace slipstream {

/// A duplicate of a communicator. Its end is collective: what other ranks still use may go after it. Ranks that do not
/// come, because they died, are waited for a few seconds only.
class Parting {
 public:
  /// `what` it is for, in the error where MPI cannot duplicate.
  Parting(const Communicator& comm, const char* what);
  ~Parting();
  Parting(const Parting&) = delete;
  Parting& operator=(const Parting&) = delete;
  MPI_Comm mpi() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace slipstream

#pragma once
#include <optional>

#include <slipstream/communicator.hpp>

namespace slipstream {

/// A duplicate of a communicator. Its end is collective: what other ranks still use may go after it.
class Parting {
 public:
  /// Time for ranks that may have died, in seconds.
  static constexpr double least_patience = 5;
  /// Of an object whose waits end after `wait_limit` seconds: no longer than the least where one has ended so, or where
  /// an error ends it, for then nobody may come.
  static double patience(double wait_limit, bool late);

  /// `what` it is for, in the error where MPI cannot duplicate.
  Parting(const Communicator& comm, const char* what);
  ~Parting();
  Parting(const Parting&) = delete;
  Parting& operator=(const Parting&) = delete;
  MPI_Comm mpi() const { return comm_; }

  /// The greatest of what all ranks say. Nothing where the others do not say anything within so many seconds: the end
  /// waits for nobody then. Collective.
  std::optional<int> greatest(int here, double seconds);

  /// Waits so long for the other ranks to part, too; true where all did. Its end does no more then.
  bool part(double seconds);
  /// The end waits for nobody.
  void part_alone() { parted_ = true; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool parted_ = false;
};

}  // namespace slipstream

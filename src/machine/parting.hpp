#pragma once
#include <optional>

#include <slipstream/communicator.hpp>

namespace slipstream {

/// A duplicate of a communicator with a collective teardown: memory that other ranks use may be freed after it.
class Parting {
 public:
  /// Timeout in seconds if other ranks may have died.
  static constexpr double least_patience = 5;
  /// Timeout of the teardown for an object with waits of up to `wait_limit` seconds. It is the least timeout after a
  /// timed-out wait or during an exception, because other ranks may never come.
  static double patience(double wait_limit, bool late);

  /// `what`: purpose of the communicator, for the error if MPI cannot duplicate it.
  Parting(const Communicator& comm, const char* what);
  ~Parting();
  Parting(const Parting&) = delete;
  Parting& operator=(const Parting&) = delete;
  MPI_Comm mpi() const { return comm_; }

  /// Maximum of `here` over all ranks. Empty if others do not answer within `seconds`; the teardown then waits for no
  /// one. Collective.
  std::optional<int> greatest(int here, double seconds);

  /// Waits up to `seconds` for the other ranks to call this; true if all did. The destructor then waits no more.
  bool part(double seconds);
  /// Makes the destructor wait for no other rank.
  void part_alone() { parted_ = true; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool parted_ = false;
};

}  // namespace slipstream

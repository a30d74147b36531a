#pragma once
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/arena.hpp>

namespace slipstream {

class SharedDuplicates;

/// Slipstream's own communicator, duplicated from the caller's, so that messages never mix. Cheap to copy. Where MPI
/// has not been started (a serial program), Communicator::world() starts it as a single rank.
///
/// Threads: the library calls MPI only from threads of its callers. MPI_THREAD_FUNNELED is enough where these calls
/// come from the thread that started MPI. Calls from other threads need MPI_THREAD_SERIALIZED, concurrent calls
/// MPI_THREAD_MULTIPLE. Throws Error in a thread that may not call MPI. Collective calls wait for the other ranks
/// without a timeout, as MPI's own do.
class Communicator {
 public:
  /// All ranks of the job. Starts MPI (MPI_THREAD_FUNNELED) unless the host program did. It also ends MPI if it started
  /// it. Environment variables and signal handlers stay as before. Duplicates once: every call returns the same
  /// communicator. The first call is collective.
  static Communicator world();
  /// For use in another program: any communicator, sub-communicators too. Collective, and so is the destructor of the
  /// last copy, which frees the duplicate. Where its thread may not call MPI, the duplicate is freed when MPI ends.
  explicit Communicator(MPI_Comm comm);

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm mpi() const { return comm_; }

  void barrier() const;
  double max(double value) const;                ///< maximum over ranks; NaN where any rank has NaN
  double sum_in_rank_order(double value) const;  ///< sum over ranks; its bits depend on the ranks' values only
  bool all(bool value) const;
  std::uint64_t any(std::uint64_t bits) const;  ///< bitwise OR over ranks
  std::string broadcast(const std::string& text, int root) const;
  /// The strings of all ranks, by rank, on every rank.
  std::vector<std::string> all_gather(const std::string& mine) const;
  std::vector<std::int64_t> all_gather(std::int64_t mine) const;

  /// The memory arena of a device of this rank, shared by all objects that use this communicator or a copy of it.
  Arena arena(Device device) const { return arenas_->of(device); }

  /// Ends all ranks with this exit code, for errors that only one rank knows of.
  [[noreturn]] void abort(int exit_code) const;

 private:
  friend class PrivateCommunicator;
  friend Communicator sharing(const Communicator& comm);
  friend Communicator unshared(const Communicator& comm);

  /// MPI duplicates that all parts of one exchange or solver share; null: a user duplicates the communicator itself
  std::shared_ptr<SharedDuplicates> shared_;
  std::shared_ptr<MPI_Comm> owned_;  ///< frees the duplicated communicator with the last copy of this object
  std::shared_ptr<Arenas> arenas_ = std::make_shared<Arenas>();
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

/// Throws Error("MPI could not `what`: ...") unless the code is MPI_SUCCESS.
void check_mpi(int code, const std::string& what);

/// True where this process was started by an MPI launcher.
bool started_by_mpi();

}  // namespace slipstream

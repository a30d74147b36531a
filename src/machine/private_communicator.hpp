#pragma once
#include <memory>
#include <optional>

#include <slipstream/communicator.hpp>

namespace slipstream {

/// A copy of the communicator for the parts of one object. The parts share two duplicates, one for each
/// Purpose, because an MPI library may have as few as 2000 communicators. All ranks create, use and end the parts in
/// the same order. A copy of such a copy shares the same duplicates.
Communicator sharing(const Communicator& comm);
/// A copy of the communicator with MPI duplicates of its own, for an object that may fail or outlive other objects.
Communicator unshared(const Communicator& comm);

/// Messages and calls of one object, in a duplicate of a communicator. Its teardown is collective; memory that other
/// ranks use may be freed afterwards.
class PrivateCommunicator {
 public:
  /// Uses of a duplicated MPI communicator: data messages, or questions, by which ranks tell each other of errors.
  /// After a question without an answer, ranks ask no more; the collective teardown still works.
  enum class Purpose : std::uint8_t { messages, questions };
  /// Timeout in seconds of a teardown if other ranks may have died.
  static double least_timeout();
  /// Timeout in seconds of the teardown for an object with waits of up to `wait_limit` seconds. It is the least timeout
  /// after a timed-out wait or during an exception, because other ranks may never come.
  static double timeout(double wait_limit, bool late);

  /// Makes or joins a duplicate of `comm`. `what`: its purpose, for the error if MPI cannot duplicate. Collective.
  PrivateCommunicator(const Communicator& comm, const char* what, Purpose purpose = Purpose::messages);
  ~PrivateCommunicator();
  PrivateCommunicator(const PrivateCommunicator&) = delete;
  PrivateCommunicator& operator=(const PrivateCommunicator&) = delete;
  MPI_Comm mpi() const;
  /// Takes `count` message tags that no other object uses with this duplicate, and returns the first. All ranks take as
  /// many. Tag 0 belongs to the rendezvous. Not collective.
  int take_tags(int count);

  /// Maximum of `here` over all ranks. Empty if others do not answer within `seconds`; later calls on this duplicate
  /// then do not wait. Collective.
  std::optional<int> greatest(int here, double seconds);

  /// Waits up to `seconds` for the other ranks to call this; true if all did. The destructor then waits no more.
  bool leave(double seconds);
  /// Makes later calls on this duplicate return without waiting for other ranks.
  void leave_alone();

 private:
  friend class SharedDuplicates;
  struct Duplicate;
  std::shared_ptr<Duplicate> duplicate_;
  bool left_ = false;
};

}  // namespace slipstream

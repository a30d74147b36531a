#pragma once
// What ranks ask each other about the calls of one object.
#include <set>
#include <string>

#include <slipstream/communicator.hpp>
#include <slipstream/transfer.hpp>

#include "machine/parting.hpp"

namespace slipstream {

/// Calls of a gather-scatter, which all ranks make alike: copies would differ where some add and others take the
/// largest.
class SameCalls {
 public:
  enum class Kind : unsigned char { run, gather, scatter };

  /// Collective, and so is its end. `seconds` that a rank waits for the others.
  SameCalls(const Communicator& comm, double seconds);

  /// One more call.
  void count() { ++made_; }
  /// Collective where this rank has not yet compared such a call. Throws Error on all ranks where the last calls that
  /// they counted differ, or where some have a `problem`, which is theirs; Timeout where some do not come.
  void compare(Kind kind, Op op, const std::string& problem);

 private:
  int rank_;
  double seconds_;
  Parting own_;  // what is asked meets nobody else's
  int made_ = 0;
  std::set<int> compared_;
};

}  // namespace slipstream

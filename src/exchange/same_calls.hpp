#pragma once
// Ranks compare the calls of one object.
#include <set>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/transfer.hpp>

#include "machine/agree.hpp"
#include "machine/parting.hpp"

namespace slipstream {

/// Calls that all ranks make alike: copies would differ where some add and others take the largest, and where one rank
/// refuses its arrays the others would wait.
class SameCalls {
 public:
  /// Calls of `what`, of these kinds. `seconds` that a rank waits for the others. Collective, and so is its end.
  SameCalls(const Communicator& comm, std::string what, std::vector<std::string> kinds, double seconds);

  /// One more call.
  void count() { ++made_; }
  /// Collective where this rank has not yet compared such a call, or where it is compared `each` time. Throws Error on
  /// all ranks where the last calls that they counted differ, or where some have a `problem`, which is theirs; Timeout
  /// where some do not come. `details`, of each call that is compared each time: a number that is the same on all.
  void compare(int kind, Op op, const Problem& problem, bool each = false, std::uint64_t details = 0);

 private:
  int way_of(int kind, Op op) const;
  std::string described(int call) const;

  int rank_;
  std::string what_;
  std::vector<std::string> kinds_;
  double seconds_;
  Parting own_;  // what is asked meets nobody else's
  int made_ = 0;
  std::set<int> compared_;
};

/// A call that is recorded is not compared.
bool captured(const std::vector<Stream>& streams);

}  // namespace slipstream

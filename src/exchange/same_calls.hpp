#pragma once
// Compares the calls of one object between ranks.
#include <set>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/transfer.hpp>

#include "machine/agree.hpp"
#include "machine/private_communicator.hpp"

namespace slipstream {

/// Checks that all ranks make the same collective calls. With different operations, such as sum and maximum, ranks
/// would get different results. If one rank alone rejected its arrays, the others would wait for it.
class SameCalls {
 public:
  /// `what`: name of the object whose calls ranks compare; `kinds`: names of its functions. Destruction is collective.
  SameCalls(const Communicator& comm, std::string what, std::vector<std::string> kinds, double seconds);

  /// Counts one more call of this rank, so that compare() can tell whether other ranks make the same one.
  void count() { ++made_; }
  /// Collective for the first call of a kind and operation, and always if `each` is true. Throws Error on all ranks if
  /// their calls differ, or if some rank has a `problem`; that rank throws its own. Throws Timeout if some rank does
  /// not come. `details` must be equal on all ranks; it is compared if `each` is true.
  void compare(int kind, Op op, const Problem& problem, bool each = false, std::uint64_t details = 0);

 private:
  std::string described(int call) const;

  int rank_;
  std::string what_;
  std::vector<std::string> kinds_;
  double seconds_;
  PrivateCommunicator own_;  // communicator for comparing calls, separate from all other messages
  int made_ = 0;
  std::set<int> compared_;
};

/// Whether a stream is being captured. Captured calls are not compared.
bool captured(const std::vector<Stream>& streams);

}  // namespace slipstream

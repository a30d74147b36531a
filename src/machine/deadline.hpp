#pragma once
#include <string>
#include <thread>

#include <slipstream/communicator.hpp>

namespace slipstream {

/// Ends the job with a message if it lives longer than the timeout. It guards library calls that wait for other ranks,
/// have no timeout and cannot be cancelled.
class Deadline {
 public:
  Deadline(const Communicator& comm, double seconds, std::string what);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  Communicator comm_;
  std::jthread thread_;
};

}  // namespace slipstream

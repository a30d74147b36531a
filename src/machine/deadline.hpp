#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include <slipstream/communicator.hpp>

namespace slipstream {

/// Ends the job with a message if it lives longer than the timeout. It guards library calls that wait for other ranks,
/// have no timeout and cannot be cancelled.
class Deadline {
 public:
  Deadline(const Communicator& comm, double seconds, std::string what);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  void watch(double seconds, const std::string& what);

  Communicator comm_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool met_ = false;
  std::thread thread_;
};

}  // namespace slipstream

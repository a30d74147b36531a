#pragma once
#include <csignal>

#include <map>
#include <string>

namespace slipstream {

/// Saves the environment variables and signal handlers of the process, and restores them at the end of its lifetime.
/// MPI_Init sets variables with which an mpiexec started from this process fails, and installs signal handlers.
class HostState {
 public:
  HostState();
  ~HostState();
  HostState(const HostState&) = delete;
  HostState& operator=(const HostState&) = delete;

 private:
  using Environment = std::map<std::string, std::string>;
  static Environment environment();

  Environment variables_;
  std::map<int, struct sigaction> handlers_;
};

}  // namespace slipstream

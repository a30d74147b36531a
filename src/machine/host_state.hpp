#pragma once
#include <csignal>

#include <map>
#include <string>

namespace slipstream {

/// Environment variables and signal handlers of the process, put back at its end as they were. MPI_Init leaves
/// variables behind that make an mpiexec started from here fail, and installs handlers of its own.
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

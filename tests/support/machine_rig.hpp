#pragma once
// Functions for tests: the backends (host, CUDA) available here, and this machine's devices by rank.
#include <string>
#include <vector>

#include <slipstream/machine.hpp>

namespace slipstream {

inline std::vector<Backend> backends_here() {
  std::vector<Backend> found{Backend::host};
  if (available(Backend::cuda)) found.push_back(Backend::cuda);
  return found;
}

/// Why a rank cannot have this many devices of the backend; empty if it can.
inline std::string unavailable(Backend backend, int devices) {
  const int there = device_count(backend);
  if (backend == Backend::host || there >= devices) return {};
  return "needs " + std::to_string(devices) + " GPUs, and this machine has " + std::to_string(there);
}

inline Machine machine_here(Backend backend, int devices, int ranks_per_node = 0,
                            const Communicator& comm = Communicator::world()) {
  Machine::Options options;
  options.backend = backend;
  options.devices_per_rank = devices;
  options.ranks_per_node = ranks_per_node;
  options.bind = false;
  return Machine::discover(comm, options);
}

}  // namespace slipstream

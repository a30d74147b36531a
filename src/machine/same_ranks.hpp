#pragma once
#include <string>

#include <slipstream/communicator.hpp>
#include <slipstream/machine.hpp>

namespace slipstream {

/// Throws Error where the machine has another number of ranks than the communicator. `what`: "an exchange".
void require_ranks_of(const Communicator& comm, const Machine& machine, const std::string& what);
/// The same, and a grid or the like must have been made for this rank.
void require_ranks_of(const Communicator& comm, const Machine& machine, int rank, const std::string& what);
/// The same, and the machine must have been discovered.
void require_discovered(const Communicator& comm, const Machine& machine, const std::string& what);

}  // namespace slipstream

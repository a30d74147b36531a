#pragma once
#include <string>

#include <slipstream/communicator.hpp>
#include <slipstream/machine.hpp>

namespace slipstream {

/// Throws Error if machine and communicator differ in their number of ranks. `what` names the object in the text.
void require_ranks_of(const Communicator& comm, const Machine& machine, const std::string& what);
/// Throws Error if the numbers of ranks differ, or if a grid or similar object was made for another rank.
void require_ranks_of(const Communicator& comm, const Machine& machine, int rank, const std::string& what);
/// Throws Error if the numbers of ranks differ, or if the machine was described and not discovered.
void require_discovered(const Communicator& comm, const Machine& machine, const std::string& what);

}  // namespace slipstream

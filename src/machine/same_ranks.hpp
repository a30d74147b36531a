#pragma once
#include <string>

#include <slipstream/communicator.hpp>
#include <slipstream/machine.hpp>

namespace slipstream {

/// Throws Error where the machine's ranks are not those of the communicator: the machine is only described, or was
/// discovered with a communicator of another size. `what`: "an exchange".
void require_ranks_of(const Communicator& comm, const Machine& machine, const std::string& what);
/// The same, and the grid or the like must have been made for this rank.
void require_ranks_of(const Communicator& comm, const Machine& machine, int rank, const std::string& what);

}  // namespace slipstream

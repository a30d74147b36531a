#include "machine/same_ranks.hpp"

#include <slipstream/error.hpp>

namespace slipstream {

void require_ranks_of(const Communicator& comm, const Machine& machine, const std::string& what) {
  require(machine.discovered() && machine.ranks() == comm.size(),
          what + " was asked for on machine '" + machine.name() + "' of " + std::to_string(machine.ranks()) +
              " ranks by " + std::to_string(comm.size()) +
              " ranks: give it the machine that Machine::discover found with the same communicator");
}

void require_ranks_of(const Communicator& comm, const Machine& machine, int rank, const std::string& what) {
  require_ranks_of(comm, machine, what);
  require(rank == comm.rank(), what + " was asked for on a grid of rank " + std::to_string(rank) + " by rank " +
                                   std::to_string(comm.rank()) +
                                   ": give it a grid that was made with the rank of the same communicator");
}

}  // namespace slipstream

#include "machine/same_ranks.hpp"

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

void require_fit(bool fits, const Communicator& comm, const Machine& machine, const std::string& what) {
  require(fits, ErrorCode::mismatch,
          what + " was asked for on machine '" + machine.name() + "' of " + std::to_string(machine.ranks()) +
              " ranks by " + std::to_string(comm.size()) +
              " ranks: give it the machine that Machine::discover found with the same communicator",
          {{"needed", machine.ranks()}, {"given", comm.size()}});
}

}  // namespace

void require_ranks_of(const Communicator& comm, const Machine& machine, const std::string& what) {
  require_fit(machine.ranks() == comm.size(), comm, machine, what);
}

void require_ranks_of(const Communicator& comm, const Machine& machine, int rank, const std::string& what) {
  require_ranks_of(comm, machine, what);
  require(rank == comm.rank(), ErrorCode::mismatch,
          what + " was asked for on a grid of rank " + std::to_string(rank) + " by rank " +
              std::to_string(comm.rank()) + ": give it a grid that was made with the rank of the same communicator",
          {{"needed", comm.rank()}, {"given", rank}});
}

void require_discovered(const Communicator& comm, const Machine& machine, const std::string& what) {
  require_fit(machine.discovered() && machine.ranks() == comm.size(), comm, machine, what);
}

}  // namespace slipstream
